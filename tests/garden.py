"""The memory that search tests share: what a small company knows about its machines.

Forty-odd passages, so that the floors of a search apply (they are off in a tiny memory), each short enough to read.
"""

from memory_server.root.paths import MemoryRoot
from tests.memories import write_session, write_source, write_topic

PLAIN_TOPICS = {
    "backups": "Every night at three the database is copied to the second disk, encrypted with age.",
    "printing": "The label printer in the hall speaks ZPL and hates long cables.",
    "tls": "Certificates come from the internal authority and are renewed sixty days before they end.",
    "dns": "Names below lan.example are answered by the two resolvers in the rack.",
    "payroll": "Salaries are paid on the twenty-fifth; the file is sent to the bank in SEPA format.",
    "holidays": "Between Christmas and New Year nobody deploys anything.",
    "kitchen": "The coffee machine wants descaling after five hundred cups.",
    "queue": "Jobs that fail three times are parked in the dead letter queue until somebody looks.",
    "metrics": "Dashboards show the ninety-fifth percentile; averages are not shown anywhere.",
    "releases": "A release is a signed tag; the changelog entry is written before the tag.",
    "search": "The product catalogue is searched through trigrams, since customers misspell names.",
    "cache": "Sessions live in memory for twenty minutes and are then written to the disk.",
    "mobile": "The app keeps orders offline and sends them when the network returns.",
    "billing": "Invoices are numbered without gaps; a cancelled one keeps its number.",
    "warehouse": "Pallets are weighed twice, at the gate and at the ramp.",
    "onboarding": "A new colleague gets a laptop, a badge and a mentor on the first day.",
    "firewall": "Port 8443 is open to the partners only, by their fixed addresses.",
    "languages": "Texts for customers are kept in German and translated into Polish and Czech.",
    "incident": "Whoever sees an outage first leads until somebody more rested takes over.",
    "clock": "All servers keep UTC; local time is computed on the screen.",
    "logs": "Log files are kept for thirty days and never hold customer names.",
    "passwords": "Shared secrets live in the vault; nobody writes them into a chat.",
    "images": "Product photographs are scaled to four widths when they are uploaded.",
    "returns": "A parcel that comes back is inspected within two working days.",
    "forklift": "The forklift is charged overnight and checked every spring.",
    "parking": "The lot behind the hall has eleven places; visitors take the first two.",
    "heating": "The boiler in the cellar is switched to summer mode in May.",
    "insurance": "Damage to goods in transit is reported to the insurer within a week.",
    "suppliers": "Screws come from two suppliers, because one of them closed for a month once.",
    "newsletter": "The newsletter goes out on Tuesdays at ten to those who confirmed twice.",
}


def write_garden(root: MemoryRoot) -> None:
    """Writes the files of the shared memory below an empty root."""
    for name, sentence in PLAIN_TOPICS.items():
        write_topic(root, name, f"# {name.capitalize()}\n\n{sentence}\n")
    write_topic(
        root,
        "mail",
        "# The mail relay\n\nThe relay listens on port 2525 of 10.0.0.7 and wants STARTTLS.\n",
        title="The mail relay",
        type="semantic",
        modified="2026-02-10",
        project="post",
        tags=["smtp", "Relay"],
    )
    write_topic(
        root,
        "deploy",
        """\
        # Deploying

        Run `deploy.sh --dry-run` first; the script stops at app.py:12 when the tree is dirty.

        ## Rolling back

        Going back to the release before takes `git revert 4f9c2e1b` and a new tag.
        """,
        type="procedural",
        modified="2025-11-03",
        project="Übersee",
        tags=["release"],
    )
    write_topic(
        root,
        "code",
        """\
        # Code

        The old part is C++ and the new one Rust. fooBar calls foo-bar.
        Requests are read by parseHTTPRequest in src/net/http_server.cc.
        The file /etc/app/config.d/10-main.toml is read at the start, v1.2.3 and later.
        """,
        modified="2026-01-15",
    )
    write_topic(
        root, "japan", "# 日本の事務所\n\n東京都のサーバーは毎週月曜日に再起動します。大阪の倉庫は閉鎖されました。\n"
    )
    write_source(root, "lessons.md", "# Lessons\n\n- Before a migration, check that the backup can be read back.\n")
    write_session(
        root,
        "2026-01-20-relay-port-aaaaaaaa",
        "The relay listens on port 25 of 10.0.0.7 and wants STARTTLS. [e:11111111]",
        "The firewall was opened for the relay after a call with the provider. [e:22222222]",
        title="The relay's port",
        type="episodic",
        start="2026-01-20T10:00:00Z",
        project="post",
        machine="workbench",
        tags=["smtp"],
    )
    write_session(
        root,
        "2026-02-20-slow-dashboard-bbbbbbbb",
        "The dashboard was slow because every panel asked for a year of data. [e:33333333]",
        "A panel now asks for a day unless somebody wants more. [e:44444444]",
        title="The slow dashboard",
        type="episodic",
        start="2026-02-20T10:00:00Z",
        machine="laptop",
    )
