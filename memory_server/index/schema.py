"""The tables of the ledger and of the keyword index, which share one SQLite file.

`stems` ranks (Porter stems, hidden keys too), `words` finds what was written (no stems, no keys), `bodies` holds a
source as a whole. All three are external-content tables: the text is stored once, and triggers hand SQLite the old
words when a row goes. What is indexed is the text in its one spelling, which is kept beside a passage only where its
words differ from those of the passage itself.
"""

from memory_server.fields import COLUMNS
from memory_server.language.words import STEMS, WORDS

SCHEMA_VERSION = 16

SCHEMA = f"""
create table note(key text primary key, value text not null) without rowid;

create table source(
    id integer primary key,
    path text not null unique,
    layer text not null,
    title text not null,
    date text,
    {"".join(f"{field.column} text not null, " for field in COLUMNS)}
    supersedes text not null,
    size integer not null,
    modified_ns integer not null,
    content_hash text not null,
    identity text not null,
    holds_from text,
    holds_until text,
    body text not null
);

create table chunk(
    id integer primary key,
    chunk_id text not null unique,
    source integer not null references source(id),
    ordinal integer not null,
    first_line integer not null,
    last_line integer not null,
    headings text not null,
    context text not null,
    passage text not null,
    unified_context text,
    unified_passage text,
    extra text not null,
    keys text not null,
    word_count integer not null,
    text_hash blob,
    is_semantic integer not null default 0,
    standing text not null,
    settled_at integer not null,
    person_chars integer not null,
    noted text not null,
    takes_back text not null
);
create index chunk_source on chunk(source, ordinal);
create index chunk_pending on chunk(is_semantic) where is_semantic = 0;
create index chunk_text on chunk(text_hash, is_semantic);

create table problem(path text not null, line integer not null, what text not null, remedy text not null,
    rule text not null);

create view indexed as select id, ifnull(unified_context, context) as context,
    ifnull(unified_passage, passage) as passage, extra, keys from chunk;
create virtual table stems using fts5(context, passage, extra, keys, content='indexed', content_rowid='id',
    tokenize='{STEMS}');
create virtual table words using fts5(context, passage, extra, content='indexed', content_rowid='id',
    tokenize='{WORDS}', prefix='2 3');
create virtual table bodies using fts5(title, body, content='source', content_rowid='id',
    tokenize='{WORDS}');
create trigger chunk_added after insert on chunk begin
    insert into stems(rowid, context, passage, extra, keys) select * from indexed where id = new.id;
    insert into words(rowid, context, passage, extra) select id, context, passage, extra from indexed where id = new.id;
end;
create trigger chunk_goes before delete on chunk begin
    insert into stems(stems, rowid, context, passage, extra, keys) select 'delete', * from indexed where id = old.id;
    insert into words(words, rowid, context, passage, extra)
        select 'delete', id, context, passage, extra from indexed where id = old.id;
end;
create trigger source_added after insert on source begin
    insert into bodies(rowid, title, body) values(new.id, new.title, new.body);
end;
create trigger source_gone after delete on source begin
    insert into bodies(bodies, rowid, title, body) values('delete', old.id, old.title, old.body);
end;

create virtual table stem_counts using fts5vocab('stems', 'row');
create virtual table stem_places using fts5vocab('stems', 'instance');
create virtual table body_counts using fts5vocab('bodies', 'row');
"""  # noqa: S608  tokenizers of our own
