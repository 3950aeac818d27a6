"""What the JSON schema of MIF 1.0.0 demands of a projection, told anew (modeled-information-format/MIF, schema/)."""

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
MOMENT = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$"}  # RFC 3339
DAY = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
URL = {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:"}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
COUNT = {"type": "integer", "minimum": 0}
DURATION = {"type": "string", "pattern": "^P"}
KINDS = {"enum": ["semantic", "episodic", "procedural"]}
CUSTOM = {"type": "string", "pattern": "^[a-zA-Z][a-zA-Z0-9]*:[a-zA-Z][a-zA-Z0-9-]*$"}


def closed(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    named = {key.replace("at_", "@"): value for key, value in properties.items()}
    return {"type": "object", "required": list(required), "properties": named, "additionalProperties": False}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def one_of(*names: str) -> dict[str, Any]:
    return {"anyOf": [{"enum": list(names)}, CUSTOM]}


TEMPORAL = closed(
    at_type={"const": "TemporalMetadata"},
    validFrom={"anyOf": [MOMENT, {"type": "null"}]},
    validUntil={"anyOf": [MOMENT, {"type": "null"}]},
    recordedAt=MOMENT,
    ttl=DURATION,
    decay=closed(
        model={"enum": ["none", "linear", "exponential", "step"]},
        halfLife=DURATION,
        currentStrength=SHARE,
        strength=SHARE,
        lastReinforced=MOMENT,
    ),
    accessCount=COUNT,
    lastAccessed=MOMENT,
    reinforcementHistory=listed(
        closed(("timestamp", "event"), timestamp=MOMENT, event=TEXT, strengthDelta={"type": "number"}, context=TEXT)
    ),
)
CITATION = closed(
    ("@type", "citationType", "citationRole", "title", "url"),
    at_type={"const": "Citation"},
    citationType=one_of(
        *("article", "book", "paper", "website", "documentation", "repository", "video", "podcast", "specification"),
        *("dataset", "tool", "other"),
    ),
    citationRole=one_of(
        *("supports", "refutes", "background", "methodology", "contradicts", "extends", "derived", "source"),
        *("example", "review"),
    ),
    title={"type": "string", "minLength": 1},
    url=URL,
    author={"type": ["string", "array", "object"]},
    date=DAY,
    accessed=DAY,
    relevance=SHARE,
    note={"type": "string", "maxLength": 1000},
)
DOCUMENT = closed(
    ("@type",),
    at_type={"const": "DocumentReference"},
    id=TEXT,
    documentType=TEXT,
    url=URL,
    hash=closed(("algorithm", "value"), algorithm=TEXT, value={"type": "string", "minLength": 1}),
    contentType=TEXT,
    byteLength=COUNT,
    version=TEXT,
    retrievedAt=MOMENT,
    title={"type": "string", "minLength": 1},
) | {"anyOf": [{"required": ["url"]}, {"required": ["id"]}]}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["@context", "@type", "@id", "conceptType", "content", "created"],
    "properties": {
        "@context": URL,
        "@type": {"enum": ["Concept", "Memory"]},
        "@id": {"type": "string", "pattern": "^urn:mif:"},
        "conceptType": KINDS,
        "memoryType": KINDS,
        "timestamp": MOMENT,
        "description": TEXT,
        "content": {"type": "string", "minLength": 1},
        "title": TEXT,
        "created": MOMENT,
        "modified": MOMENT,
        "compressedAt": MOMENT,
        "namespace": {"type": "string", "pattern": "^[a-zA-Z0-9_-]+(/[a-zA-Z0-9_-]+)*$"},
        "tags": listed(TEXT),
        "aliases": listed(TEXT),
        "entities": listed({"type": "object", "required": ["@type"]}),
        "relationships": listed(
            closed(
                ("type", "target"),
                type={"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*(:[a-z0-9][a-z0-9-]*)?$"},
                target=TEXT,
                strength=SHARE,
                metadata={"type": "object"},
            )
        ),
        "temporal": TEMPORAL,
        "provenance": {
            "type": "object",
            "properties": {
                "sourceType": {
                    "enum": [
                        *("user_explicit", "user_implicit", "agent_inferred", "external_import", "system_generated")
                    ]
                },
                "confidence": SHARE,
                "trustLevel": {
                    "enum": [
                        *("verified", "user_stated", "high_confidence", "moderate_confidence", "low_confidence"),
                        "uncertain",
                    ]
                },
            },
        },
        "embedding": closed(
            at_type={"const": "EmbeddingReference"},
            model=TEXT,
            modelVersion=TEXT,
            dimensions={"type": "integer", "minimum": 1},
            sourceText=TEXT,
            vectorUri=URL,
            normalized={"type": "boolean"},
        ),
        "ontology": closed(
            ("id",),
            at_type={"const": "OntologyReference"},
            id={"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
            version={"type": "string", "pattern": r"^\d+\.\d+\.\d+.*$"},
            uri=URL,
        ),
        "entity": {
            "type": "object",
            "required": ["name"],
            "properties": {"entity_type": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"}},
        },
        "citations": listed(CITATION),
        "documents": listed(DOCUMENT),
        "summary": {"type": "string", "maxLength": 500},
        "properties": {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        },
        "extensions": {"type": "object"},
    },
}
