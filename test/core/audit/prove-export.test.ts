import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  auditHash,
  type Checkpoint,
  evidenceSum,
  genesisHash,
  proveExport,
  type SignatureVerdict,
  writeExportLine,
} from '../../../src/core/audit/index.ts'

const at = '2026-01-05T02:00:00.000Z'
type Entry = { kind: 'entry'; seq: number; actor: string; data: unknown; previousHash: string; hash: string } & Record<string, unknown>
type Line = Record<string, unknown>

const evidence = (n: number) => ({ tenantSlug: `box-${n}`, attempt: 1, digests: { synapse: `sha256:${n}` } })

/** Entries as the daemon writes them; every third one names evidence. */
function entriesOf(count: number, actor = 'admin:anna'): Entry[] {
  const entries: Entry[] = []
  for (let seq = 1; seq <= count; seq++) entries.push(linked(entries.at(-1)?.hash ?? genesisHash, seq, actor))
  return entries
}

function linked(previousHash: string, seq: number, actor: string): Entry {
  const data = seq % 3 === 0 ? { seq, evidence: evidenceSum(evidence(seq)) } : { seq }
  const content = { chain: 'rollout:x', seq, at, actor, action: 'act', subject: null, data, previousHash }
  return { kind: 'entry', ...content, hash: auditHash(content) }
}

const header = (entries: number): Line => ({
  ...{ kind: 'export', version: 1, chain: 'rollout:x', exportedAt: at, entries, publicKey: 'pem', evidence: true },
})
const evidenceOf = (entries: readonly Entry[]): Line[] =>
  entries.filter(({ seq }) => seq % 3 === 0).map(({ seq }) => ({ kind: 'evidence', evidence: evidence(seq) }))

const exported = (entries: readonly Entry[]): Line[] => [header(entries.length), ...entries, ...evidenceOf(entries)]
const checkpointAt = (entries: readonly Entry[], count: number): Checkpoint => {
  return { chain: 'rollout:x', count, hash: entries[count - 1]?.hash ?? '', at, keyId: 'k1', signature: 'good' }
}
/** Replaces signature verification: the signature text is the verdict. */
const verifySignature = ({ keyId, signature }: Checkpoint): SignatureVerdict =>
  keyId !== 'k1' ? 'other-key' : signature === 'good' ? 'good' : 'bad'
const prove = (lines: readonly Line[], checkpoints: readonly Checkpoint[]) =>
  proveExport(
    lines.map((line) => JSON.stringify(line)),
    { checkpoints, verifySignature },
  )

const length = 12
const signed = 9
const entries = entriesOf(length)
const stored = [checkpointAt(entries, 4), checkpointAt(entries, signed)]

test('an unchanged export is verified to its newest checkpoint; later entries are linked', async () => {
  expect(await prove(exported(entries), stored)).toEqual({
    chain: 'rollout:x',
    ok: true,
    entries: length,
    head: { seq: length, hash: entries[length - 1]?.hash },
    proved: { count: signed, at, keyId: 'k1' },
    unsigned: length - signed,
    evidence: { proved: 4, absent: 0, replaced: 0 },
  })
})

test('checkpoints in the export count like stored ones', async () => {
  const lines = exported(entries)
  lines.splice(1, 0, { kind: 'checkpoint', ...checkpointAt(entries, 11) })
  expect(await prove(lines, stored)).toMatchObject({ ok: true, proved: { count: 11 }, unsigned: 1 })
})

test('a truncated chain is detected at any length, with a matching header', async () => {
  for (let left = 0; left < signed; left++) {
    const proof = await prove(exported(entries.slice(0, left)), stored)
    expect(proof).toMatchObject({ ok: false, brokenAt: left + 1 })
    expect(proof.reason).toContain('it was truncated')
  }
})

test('truncation is the reported reason, even if the evidence of the missing entries is present', async () => {
  const lines = [header(5), ...entries.slice(0, 5), ...evidenceOf(entries)]
  const proof = await prove(lines, stored)
  expect(proof).toMatchObject({
    ok: false,
    brokenAt: 6,
    reason: expect.stringContaining(`signed with ${signed} entries at ${at}: it was truncated`),
  })
})

test('a copy truncated at any byte is detected', async () => {
  const lines = [{ ...header(length), ends: true }, ...entries, ...evidenceOf(entries), { kind: 'end', evidence: 4 }]
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const proveText = (part: string) => proveExport(part.split('\n'), { checkpoints: stored, verifySignature })
  expect(await proveText(text)).toMatchObject({ ok: true, evidence: { proved: 4, absent: 0 } })
  for (let cut = 0; cut < text.length - 1; cut++) expect([cut, (await proveText(text.slice(0, cut))).ok]).toEqual([cut, false])
})

test('missing evidence and lines after the end line are detected', async () => {
  const ends = { ...header(length), ends: true }
  const [first, ...others] = evidenceOf(entries)
  const end = { kind: 'end', evidence: 4 }
  expect(await prove([ends, ...entries, ...others, end], stored)).toMatchObject({
    ok: false,
    reason: expect.stringContaining('of 3 attempts'),
  })
  expect(await prove([ends, ...entries, ...others, end, first as Line], stored)).toMatchObject({ ok: false })
  expect(await prove([ends, ...entries, ...others, { kind: 'end', evidence: 3 }], stored)).toMatchObject({
    ok: true,
    evidence: { absent: 1 },
  })
})

test('a download truncated after the last checkpoint is distinguished from a log that ends there', async () => {
  const lines = [header(length), ...entries.slice(0, 10)]
  expect(await prove(lines, stored)).toMatchObject({ ok: false, brokenAt: 11, reason: expect.stringContaining('export it again') })
  expect(await prove(exported(entries.slice(0, 10)), stored)).toMatchObject({ ok: true, unsigned: 1 })
})

test('a chain rewritten with valid hashes is detected by the checkpoint alone', async () => {
  for (let from = 1; from <= signed; from++) {
    const rewritten = entries.slice(0, from - 1)
    for (let seq = from; seq <= length; seq++) rewritten.push(linked(rewritten.at(-1)?.hash ?? genesisHash, seq, 'admin:mallory'))
    const first = from <= 4 ? 4 : signed
    const proof = await prove(exported(rewritten), stored)
    expect(proof).toMatchObject({ ok: false, brokenAt: first })
    expect(proof.reason).toContain('the chain was rewritten')
    expect(await prove(exported(rewritten), [])).toMatchObject({ ok: true, proved: null })
  }
})

test('entries rewritten after the last checkpoint are not detected, but reported as not signed', async () => {
  const rewritten = [...entries.slice(0, signed), linked(entries[signed - 1]?.hash as string, signed + 1, 'admin:mallory')]
  expect(await prove(exported(rewritten), stored)).toMatchObject({ ok: true, unsigned: 1 })
})

test('another key, a changed checkpoint or a checkpoint of another chain fails the verification', async () => {
  const last = checkpointAt(entries, signed)
  expect(await prove(exported(entries), [{ ...last, keyId: 'k2' }])).toMatchObject({ ok: false, reason: expect.stringContaining('k2') })
  expect(await prove(exported(entries), [{ ...last, signature: 'bad' }])).toMatchObject({
    ok: false,
    reason: expect.stringContaining('changed'),
  })
  const other = await prove(exported(entries), [{ ...last, chain: 'admin' }])
  expect(other).toMatchObject({ ok: false, reason: expect.stringContaining('none of the checkpoints') })
})

test('changed or added evidence is detected; missing evidence is counted', async () => {
  const changed = exported(entries).map((line) =>
    line.kind === 'evidence' ? { ...line, evidence: { ...evidence(3), digests: {} } } : line,
  )
  expect(await prove(changed, stored)).toMatchObject({ ok: false, reason: expect.stringContaining('evidence 1') })
  const [some] = evidenceOf(entries)
  expect(await prove([...exported(entries), some as Line], stored)).toMatchObject({ ok: false })
  expect(await prove([header(length), ...entries], stored)).toMatchObject({ ok: true, evidence: { proved: 0, absent: 4 } })
})

test('evidence that a later entry replaces is neither missing nor accepted', async () => {
  const replacing = (previousHash: string, data: object): Entry => {
    const content = { chain: 'rollout:x', seq: length + 1, at, actor: 'system:rollouts', action: 'act', subject: null, previousHash, data }
    return { kind: 'entry', ...content, hash: auditHash(content) }
  }
  const corrected = { ...evidence(3), status: 'succeeded' }
  const data = { evidence: evidenceSum(corrected), replaces: evidenceSum(evidence(3)) }
  const chain = [...entries, replacing(entries.at(-1)?.hash ?? '', data)]
  const [first, ...others] = evidenceOf(entries)
  const lines = (some: Line[]) => [header(length + 1), ...chain, ...some]
  const now: Line = { kind: 'evidence', evidence: corrected }
  expect(await prove(lines([now, ...others]), stored)).toMatchObject({ ok: true, evidence: { proved: 4, absent: 0, replaced: 1 } })
  expect(await prove(lines([first as Line, ...others]), stored)).toMatchObject({ ok: false, reason: expect.stringContaining('evidence 1') })
})

test.each<[string, string[]]>([
  ['an empty file', []],
  ['an HTML page', ['<html>']],
  ['entries without a header', [JSON.stringify(entries[0])]],
  ['two exports', [JSON.stringify(header(0)), JSON.stringify(header(0))]],
])('%s is not an export', async (_, lines) => {
  expect(await proveExport(lines, { checkpoints: [], verifySignature })).toMatchObject({ ok: false })
})

test('a line that displays another value than it hashes is detected', async () => {
  const lines = exported(entries).map((line) => JSON.stringify(line))
  const twice = (lines[2] as string).replace('"actor"', '"actor":"admin:mallory","actor"')
  const number = (lines[2] as string).replace('"data":{"seq":2}', '"data":{"seq":2.00000000000000000001}')
  for (const other of [twice, number]) {
    expect(JSON.parse(other)).toEqual(JSON.parse(lines[2] as string))
    expect(await proveExport(lines.with(2, other), { checkpoints: stored, verifySignature })).toMatchObject({ ok: false })
  }
})

test('a text with Unicode line separators is exported as one line', async () => {
  const content = { ...{ chain: 'rollout:x', seq: 1, at, actor: 'admin:anna', action: 'act', subject: null, previousHash: genesisHash } }
  const entry = { ...content, data: { reason: 'a\u2028b\u2029c' } }
  const line = writeExportLine({ kind: 'entry', ...entry, hash: auditHash(entry) })
  expect(line.trimEnd().split(/\n|\u2028|\u2029/)).toHaveLength(1)
  const proof = await proveExport([JSON.stringify(header(1)), line.trimEnd()], { checkpoints: [], verifySignature })
  expect(proof).toMatchObject({ ok: true, entries: 1 })
})

test('with a key given, an export without a signature fails', async () => {
  const lines = (more: Line[]) => [header(length), ...more, ...entries, ...evidenceOf(entries)].map((line) => JSON.stringify(line))
  const withKey = (...more: Line[]) => proveExport(lines(more), { checkpoints: [], verifySignature, needsSignature: true })
  expect(await withKey()).toMatchObject({ ok: false, reason: expect.stringContaining('contains no signature') })
  expect(await withKey({ kind: 'checkpoint', ...checkpointAt(entries, 4) })).toMatchObject({ ok: true, proved: { count: 4 } })
})

/** Changes to the lines up to the last checkpoint that do not recompute all hashes. */
const anEntry = fc.integer({ min: 1, max: signed })
const tampering = fc.oneof(
  fc.record({
    does: fc.constant('change' as const),
    seq: anEntry,
    field: fc.constantFrom('at', 'actor', 'action', 'subject', 'previousHash', 'hash', 'chain', 'seq', 'data'),
    to: fc.anything({ maxDepth: 1 }),
  }),
  fc.record({ does: fc.constant('leave out' as const), seq: anEntry, many: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ does: fc.constant('swap' as const), seq: anEntry, other: anEntry }),
  fc.record({ does: fc.constant('twice' as const), seq: anEntry, after: anEntry }),
  fc.record({ does: fc.constant('own hash' as const), seq: anEntry }),
  fc.record({
    does: fc.constant('a letter' as const),
    seq: anEntry,
    where: fc.double({ min: 0, max: 0.999, noNaN: true }),
    letter: fc.constantFrom('0', 'a', '"', '}', ' x'),
  }),
)

test('every change, removal, move, insertion or cut up to the last checkpoint is detected', async () => {
  await fc.assert(
    fc.asyncProperty(tampering, async (how) => {
      const before = exported(entries).map((line) => JSON.stringify(line))
      const lines = tampered(before, how)
      const same = JSON.stringify(lines) === JSON.stringify(before)
      expect((await proveExport(lines, { checkpoints: stored, verifySignature })).ok).toBe(same)
    }),
    { numRuns: 400 },
  )
})

/** Line 0 is the header, so entry 1 is line 1. */
function tampered(lines: string[], how: typeof tampering extends fc.Arbitrary<infer T> ? T : never): string[] {
  const { seq } = how
  const line = JSON.parse(lines[seq] as string)
  switch (how.does) {
    case 'change':
      return lines.with(seq, JSON.stringify({ ...line, [how.field]: how.to }))
    case 'leave out':
      return lines.toSpliced(seq, how.many)
    case 'swap':
      return lines.with(seq, lines[how.other] as string).with(how.other, lines[seq] as string)
    case 'twice':
      return lines.toSpliced(how.after, 0, lines[seq] as string)
    case 'own hash': {
      const changed = { ...line, data: { seq, more: true } }
      return lines.with(seq, JSON.stringify({ ...changed, hash: auditHash(changed) }))
    }
    case 'a letter': {
      const text = lines[seq] as string
      const at = Math.floor(how.where * text.length)
      return lines.with(seq, text.slice(0, at) + how.letter + text.slice(at + 1))
    }
  }
}
