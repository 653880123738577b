import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AuditEntry, auditHash, genesisHash, verifyChain } from '../../../src/core/audit/index.ts'

/** A chain of entries as `recordAudit` writes them. */
function aChain(length: number): AuditEntry[] {
  const entries: AuditEntry[] = []
  for (let seq = 1; seq <= length; seq++) {
    const previousHash = entries.at(-1)?.hash ?? genesisHash
    const content = {
      chain: 'admin',
      seq,
      at: '2026-01-05T02:00:00.000Z',
      actor: 'admin:anna',
      action: 'x',
      subject: null,
      data: { seq },
      previousHash,
    }
    entries.push({ ...content, hash: auditHash(content) })
  }
  return entries
}

test('an unchanged chain is valid up to its head', () => {
  const entries = aChain(5)
  expect(verifyChain(entries)).toEqual({ ok: true, head: { seq: 5, hash: entries[4]?.hash } })
})

test('verifying in pages gives the same result as verifying at once', () => {
  const entries = aChain(7)
  const first = verifyChain(entries.slice(0, 3))
  expect(verifyChain(entries.slice(3), first.head)).toEqual(verifyChain(entries))
})

const changes: Record<string, (entry: AuditEntry) => AuditEntry> = {
  actor: (entry) => ({ ...entry, actor: 'admin:mallory' }),
  action: (entry) => ({ ...entry, action: 'y' }),
  time: (entry) => ({ ...entry, at: '2026-01-05T02:00:01.000Z' }),
  data: (entry) => ({ ...entry, data: { seq: -1 } }),
  subject: (entry) => ({ ...entry, subject: 'somebody' }),
  'data with a recomputed hash': (entry) => {
    const changed = { ...entry, data: { seq: -1 } }
    return { ...changed, hash: auditHash(changed) }
  },
}
test.each(Object.keys(changes))('a changed %s is detected', (what) => {
  const entries = aChain(5)
  entries[2] = changes[what]?.(entries[2] as AuditEntry) as AuditEntry
  const verdict = verifyChain(entries)
  expect(verdict).toMatchObject({ ok: false })
  expect(verdict.ok ? 0 : verdict.brokenAt).toBe(what.includes('hash') ? 4 : 3)
})

test('a removed entry is detected', () => {
  const entries = aChain(5)
  expect(verifyChain(entries.filter(({ seq }) => seq !== 3))).toMatchObject({ ok: false, brokenAt: 3 })
})

test('any reordering is detected', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(aChain(6), { minLength: 6 }), (shuffled) => {
      const inOrder = shuffled.every((entry, index) => entry.seq === index + 1)
      expect(verifyChain(shuffled).ok).toBe(inOrder)
    }),
  )
})

test('entries renumbered to close a gap are detected', () => {
  const entries = aChain(5).filter(({ seq }) => seq !== 3)
  const renumbered = entries.map((entry, index) => ({ ...entry, seq: index + 1 }))
  expect(verifyChain(renumbered)).toMatchObject({ ok: false, brokenAt: 3 })
})
