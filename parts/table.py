"""The parts that come with the program, in the order in which they are asked: routes before their aliases."""

from parts.agents.part import part as agents
from parts.aliases.part import part as aliases
from parts.arranging.part import part as arranging
from parts.chat.part import part as chat
from parts.clients.part import part as clients
from parts.keeping.part import part as keeping
from parts.machines.part import part as machines
from parts.models.part import part as models
from parts.notes.part import part as notes
from parts.page.part import part as page
from parts.readings.part import part as readings
from parts.signing.part import part as signing
from parts.taking_over.part import part as taking_over
from parts.team.part import part as team
from parts.tracing.part import part as tracing
from parts.trainers.part import part as trainers
from parts.two_memories.part import part as two_memories
from parts.uninstalling.part import part as uninstalling

PARTS = (
    *(trainers, agents, aliases, arranging, chat, clients, models, keeping, machines, notes, page),
    *(readings, signing, taking_over, team, tracing, two_memories, uninstalling),
)
