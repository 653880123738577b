import { sumInEntry, writeExportLine } from '../../core/audit/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal'>

/** Progress of reading a chain. */
export type Read = Readonly<{ entries: number; of: number; checkpoints: number; evidence: number }>
type Input = Readonly<{ chain: string; evidence: boolean; onProgress?: (read: Read) => void }>

/**
 * Yields a chain as the lines of an export, up to its current head, one page in memory at a time. Verifies nothing: a missing page ends the
 * export early, and the proof reports it.
 */
export async function* exportLines(deps: Deps, { chain, evidence, onProgress }: Input): AsyncGenerator<string> {
  const { api, clock, signal } = deps
  let page = await api.audit.exportAudit({ query: { chain } }, { signal })
  const of = page.head.seq
  const { publicKey, checkpoints } = await api.audit.listCheckpoints({ query: { chain } }, { signal })
  const mine = checkpoints.filter(({ count }) => count <= of) // a checkpoint signed since the first page belongs to the next export
  let read: Read = { entries: 0, of, checkpoints: mine.length, evidence: 0 }
  const named = new Set<string>()
  const rollout = evidence ? rolloutOf(chain) : undefined
  yield writeExportLine({
    kind: 'export',
    version: 1,
    chain,
    exportedAt: isoNow(clock),
    entries: of,
    publicKey,
    evidence: rollout !== undefined,
    ends: true,
  })
  yield mine.map((checkpoint) => writeExportLine({ kind: 'checkpoint', ...checkpoint })).join('')
  while (read.entries < of) {
    const entries = page.entries.filter(({ seq }) => seq <= of)
    const last = entries.at(-1)
    if (!last || last.seq <= read.entries) break
    for (const { data } of entries) if (sumInEntry(data)) named.add(nameOf(data as Named))
    yield entries.map((entry) => writeExportLine({ kind: 'entry', ...entry })).join('')
    read = { ...read, entries: last.seq }
    onProgress?.(read)
    if (last.seq < of) page = await api.audit.exportAudit({ query: { chain, after: last.seq } }, { signal })
  }
  for await (const page of rollout === undefined ? [] : evidenceOf(deps, rollout)) {
    const some = page.filter(({ tenantSlug, attempt }) => named.has(nameOf({ slug: tenantSlug, attempt })))
    yield some.map((one) => writeExportLine({ kind: 'evidence', evidence: one })).join('')
    read = { ...read, evidence: read.evidence + some.length }
    onProgress?.(read)
  }
  yield writeExportLine({ kind: 'end', evidence: read.evidence })
}

/** Identifies the attempt of an entry or of evidence. An attempt that ended after the head was read belongs to the next export. */
type Named = Readonly<{ slug: string; attempt: number }>
const nameOf = ({ slug, attempt }: Named): string => `${slug} ${attempt}`

type Evidence = Readonly<{ tenantSlug: string; attempt: number }>

const rolloutOf = (chain: string): string | undefined => /^rollout:(.+)$/.exec(chain)?.[1]

async function* evidenceOf({ api, signal }: Deps, id: string): AsyncGenerator<Evidence[]> {
  let cursor: string | null | undefined
  while (cursor !== null) {
    const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) }
    const page: { evidence: Evidence[]; nextCursor: string | null } = await api.rollouts.listEvidence({ params: { id }, query }, { signal })
    yield page.evidence
    cursor = page.nextCursor
  }
}
