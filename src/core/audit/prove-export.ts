import { type ChainHead, chainStart, verifyChain } from './chain.ts'
import type { Checkpoint } from './checkpoint.ts'
import { type ExportHeader, type ExportLine, evidenceSum, readExportLine, sumInEntry } from './export.ts'

/** What there is to say of an export against checkpoints. */
export type Proof = Readonly<{
  chain: string
  ok: boolean
  /** Why not, and the number of the first entry that does not hold where there is one. */
  reason?: string
  brokenAt?: number
  /** Entries that follow from each other, from the first on. */
  entries: number
  head: ChainHead
  /** The last entry that a good signature stands for: nothing up to it was changed since then. */
  proved: Readonly<{ count: number; at: string; keyId: string }> | null
  /** Entries after it: linked to what is proved, not yet signed. */
  unsigned: number
  /** Records that entries name by their sum; those which are not in the file are neither proved nor disproved. */
  evidence: Readonly<{ proved: number; absent: number }>
}>

/** `other-key` when the key that it names is not among those that are trusted. */
export type SignatureVerdict = 'good' | 'bad' | 'other-key'

type ProofDeps = Readonly<{
  /** What was kept elsewhere; of other chains too. */
  checkpoints: readonly Checkpoint[]
  /** Judges by the keys that were kept elsewhere, or else by the one that came with the export. */
  judge: (checkpoint: Checkpoint, header: ExportHeader) => SignatureVerdict
  /** Whoever gives a key wants to see it at work: an export from which all signatures were taken proves nothing to him. */
  needsSignature?: boolean
}>

/** Stops the walk with what is wrong. */
type Broken = Readonly<{ reason: string; brokenAt?: number }>

/**
 * Recomputes every hash, compares every checkpoint of the chain with the entry it signed, and every evidence with its sum. One pass, whatever
 * the length. Whatever is not as it must be makes the proof fail: a changed, missing, moved or added entry by its hash, a chain that was
 * rewritten whole or cut at its end by a checkpoint.
 */
export async function proveExport(lines: AsyncIterable<string> | Iterable<string>, deps: ProofDeps): Promise<Proof> {
  const walk = new Walk(deps)
  for await (const line of lines) {
    if (line === '') continue
    const broken = walk.step(readExportLine(line))
    if (broken) return walk.proof(broken)
  }
  return walk.proof(walk.end())
}

/** How far the reading of one export is. */
class Walk {
  readonly #needs: ProofDeps
  #header: ExportHeader | undefined
  #head: ChainHead = chainStart
  #proved: Checkpoint | undefined
  #proving = 0
  /** By the number of the entry that they sign. */
  readonly #waiting = new Map<number, Checkpoint[]>()
  readonly #sums = new Set<string>()
  #ended = false

  constructor(deps: ProofDeps) {
    this.#needs = deps
  }

  step(line: ExportLine | undefined): Broken | undefined {
    if (!line) return { reason: `the file holds a line that is none of an export, after entry ${this.#head.seq}` }
    if (!this.#header) return line.kind === 'export' ? this.#open(line) : { reason: 'the file does not begin as an export does' }
    if (line.kind === 'export') return { reason: 'the file holds two exports' }
    if (this.#ended) return { reason: 'the file goes on after its end' }
    if (line.kind === 'checkpoint') return this.#expect(line)
    if (line.kind === 'end') return this.#close(line.evidence)
    return line.kind === 'entry' ? this.#follow(line) : this.#compare(line.evidence)
  }

  /** Evidence may be absent because it was deleted in time; what was left out on the way is another matter. */
  #close(evidence: number): Broken | undefined {
    this.#ended = true
    const missing = this.#missing(this.#header as ExportHeader)
    if (missing || evidence === this.#proving) return missing
    return { reason: `the file holds the evidence of ${this.#proving} attempts, and says that it has that of ${evidence}: export it again` }
  }

  #open(header: ExportHeader): Broken | undefined {
    this.#header = header
    const { checkpoints } = this.#needs
    const ours = checkpoints.filter(({ chain }) => chain === header.chain)
    if (checkpoints.length > 0 && ours.length === 0) return { reason: `none of the checkpoints is of the chain ${header.chain}` }
    for (const checkpoint of ours) {
      const broken = this.#expect(checkpoint)
      if (broken) return broken
    }
    return undefined
  }

  #expect(checkpoint: Checkpoint): Broken | undefined {
    const { chain, count, at, keyId } = checkpoint
    const header = this.#header as ExportHeader
    if (chain !== header.chain) return { reason: `the export of ${header.chain} holds a checkpoint of ${chain}` }
    if (count <= this.#head.seq) return { reason: `the checkpoint of ${at} stands after the entry that it signs` }
    const verdict = this.#needs.judge(checkpoint, header)
    if (verdict === 'other-key')
      return { reason: `the checkpoint of ${at} is signed by the key ${keyId}, which is not the one that is trusted` }
    if (verdict === 'bad') return { reason: `the signature of the checkpoint of ${at} does not fit: it was changed` }
    this.#waiting.set(count, [...(this.#waiting.get(count) ?? []), checkpoint])
    return undefined
  }

  #follow(entry: Extract<ExportLine, { kind: 'entry' }>): Broken | undefined {
    const { kind, ...content } = entry
    const { chain } = this.#header as ExportHeader
    if (entry.chain !== chain) return { brokenAt: this.#head.seq + 1, reason: `entry ${this.#head.seq + 1} is of the chain ${entry.chain}` }
    const verdict = verifyChain([content as never], this.#head)
    if (!verdict.ok) return verdict
    this.#head = verdict.head
    const sum = sumInEntry(entry.data)
    if (sum) this.#sums.add(sum)
    return this.#compareSigned()
  }

  #compareSigned(): Broken | undefined {
    const { seq, hash } = this.#head
    for (const checkpoint of this.#waiting.get(seq) ?? []) {
      if (checkpoint.hash !== hash)
        return {
          brokenAt: seq,
          reason: `entry ${seq} is not the one that was signed at ${checkpoint.at}: the chain was written anew, up to it or from some entry before it on`,
        }
      this.#proved = checkpoint
    }
    this.#waiting.delete(seq)
    return undefined
  }

  #compare(evidence: unknown): Broken | undefined {
    if (!this.#sums.delete(evidenceSum(evidence)))
      // Where entries are missing, so are those that name it: it is what was cut off that must be told.
      return (
        this.#missing(this.#header as ExportHeader) ?? {
          reason: `the evidence ${this.#proving + 1} of the file is none that an entry names: it was changed or added`,
        }
      )
    this.#proving++
    return undefined
  }

  end(): Broken | undefined {
    if (!this.#header) return { reason: 'the file is empty' }
    return this.#missing(this.#header) ?? this.#brokenOff(this.#header) ?? this.#unsigned()
  }

  #brokenOff({ ends }: ExportHeader): Broken | undefined {
    return ends && !this.#ended
      ? { reason: 'the file breaks off behind its entries, where evidence may have followed: export it again' }
      : undefined
  }

  #unsigned(): Broken | undefined {
    if (!this.#needs.needsSignature || this.#proved) return undefined
    return { reason: 'nothing in it is signed, so no key can prove it: sign the log (`tenantry audit checkpoint`) and export it again' }
  }

  #missing({ entries }: ExportHeader): Broken | undefined {
    const { seq } = this.#head
    const [later] = [...this.#waiting.values()].flat().toSorted((a, b) => b.count - a.count)
    if (later)
      return {
        brokenAt: seq + 1,
        reason: `the log ends at entry ${seq}, and at ${later.at} it was signed with ${later.count}: its end was cut off`,
      }
    if (seq !== entries)
      return { brokenAt: seq + 1, reason: `the file ends at entry ${seq}, and says that it has ${entries}: export it again` }
    return undefined
  }

  proof(broken: Broken | undefined): Proof {
    const { seq } = this.#head
    const proved = this.#proved && { count: this.#proved.count, at: this.#proved.at, keyId: this.#proved.keyId }
    return {
      chain: this.#header?.chain ?? '',
      ok: broken === undefined,
      ...(broken ? { reason: broken.reason } : {}),
      ...(broken?.brokenAt === undefined ? {} : { brokenAt: broken.brokenAt }),
      entries: seq,
      head: this.#head,
      proved: proved ?? null,
      unsigned: seq - (proved?.count ?? 0),
      evidence: { proved: this.#proving, absent: this.#sums.size },
    }
  }
}
