"""What taking over brings: what is written down elsewhere comes in, skills and what is approved go out."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """Imports, skills and exports."""
    return Part(
        "taking_over",
        commands=(
            PartCommand("import", "Offer what your CLAUDE.md, rules and notes say as topics.", "wrong", _add_import),
            PartCommand("skills", "List what you do again and again; make a skill of it.", "report", _add_skills),
            PartCommand("export", "Write what is approved, for training or for other programs.", "skills", _add_export),
        ),
    )


def _add_import(app: typer.Typer) -> None:
    from parts.taking_over.commands.importing import add_commands

    add_commands(app)


def _add_skills(app: typer.Typer) -> None:
    from parts.taking_over.commands.skills import add_commands

    add_commands(app)


def _add_export(app: typer.Typer) -> None:
    from parts.taking_over.commands.export import add_commands

    add_commands(app)
