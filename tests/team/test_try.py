import pytest
from memory_server.search.query import parse_query
from memory_server.search.question import Search
def test_a(team, garden_tenant, garden):
    for s in Search:
        for q in ["who pays wages", "mail relay port", "backup server", "port 25", "wages layer:topic", "rela*", '"mail relay"', "server OR relay", "printer NOT relay"]:
            asked=parse_query(q, s)
            a=garden.search(asked); b=team.search(garden_tenant, asked).answer
            x=[(h.path,h.lines,round(h.score,4),h.certainty,h.decides) for h in a.hits]; y=[(h.path,h.lines,round(h.score,4),h.certainty,h.decides) for h in b.hits]
            print(s,q,x==y,len(x),len(y), a.note==b.note, abs(a.confidence-b.confidence)<1e-4)
            if x!=y: print(x[:3]); print(y[:3])
