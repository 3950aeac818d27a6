"""A topic with every field of MIF 1.0, and one of 0.1."""

FULL = """---
id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c
type: semantic
created: '2026-01-15T10:30:00Z'
modified: '2026-01-20T14:22:00+01:00'
title: The relay's port
namespace: _semantic/mail
ontology: {id: mail-things, version: 1.10.0, uri: 'https://example.com/o.yaml'}
tags: [mail, 'on', '1.0']
aliases: [relay]
entities:
- '@type': EntityReference
  entity: {'@id': 'urn:mif:entity:relay'}
  name: Relay
  entityType: Technology
entity: {name: Relay, entity_type: technology, ports: [25, 2525]}
relationships:
- {type: relates-to, target: /mail/queue.md, strength: 0.5}
- {type: 'own:kind', target: 'urn:mif:0b191afe-df8d-5858-8e1d-438787ebdeee', metadata: {why: {deep: true}}}
temporal:
  '@type': TemporalMetadata
  validFrom: '2026-01-15T00:00:00Z'
  validUntil: null
  recordedAt: '2026-01-15T10:30:00Z'
  ttl: P365D
  decay: {model: exponential, halfLife: P30D, currentStrength: 0.92, lastReinforced: '2026-01-20T14:22:00Z'}
  accessCount: 8
  lastAccessed: '2026-01-20T14:22:00Z'
  reinforcementHistory:
  - {timestamp: '2026-01-16T00:00:00Z', event: confirmed, strengthDelta: 0.1}
provenance: {sourceType: user_explicit, sourceRef: 'meeting:1', agent: a, confidence: 0.98, trustLevel: verified}
embedding: {model: small, modelVersion: 2024-01, dimensions: 384, normalized: true}
citations:
- '@type': Citation
  citationType: specification
  citationRole: source
  title: SMTP
  url: https://www.rfc-editor.org/rfc/rfc5321
  date: '2008-10-01'
  relevance: 1.0
documents:
- {'@type': DocumentReference, url: 'https://example.com/a.pdf', byteLength: 48213, version: '1.10', hash: {algorithm: sha256, value: ab}}
summary: The relay listens on 2525.
properties: {port: 2525, tls: true, ratio: 0.5, nothing: null, version: '1.10'}
compressedAt: '2026-02-01T00:00:00Z'
extensions:
  other: {deep: [1, {two: 2.0}], 'on': false}
---

# The relay's port

It listens on 2525. ^port
"""  # noqa: E501
OLDER = """---
id: relay-port
title: "The relay's port"
type: episodic
created: 2026-01-15T10:30:00Z
temporal:
  valid_from: 2026-01-15
  valid_until: null
  decay: {model: exponential, half_life: P7D, strength: 0.92}
  access_count: 8
provenance: {source_type: conversation, source_ref: "conversation:1", session_id: s1, confidence: 0.98}
code_refs:
  - {file: relay.py, line: 12, symbol: listen, type: function}
conflicts:
  - {memory_id: other, resolution: kept, resolved_at: 2026-01-16}
citations:
  - {type: documentation, title: SMTP, url: "https://example.com/smtp", accessed: 2026-01-19, relevance: 0.85}
relationships:
  - {type: relates_to, target: 0b191afe-df8d-5858-8e1d-438787ebdeee, label: see also}
---
The relay listens on 2525.
"""
