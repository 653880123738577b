import { type ChainHead, chainStart, verifyChain } from './chain.ts'
import type { Checkpoint } from './checkpoint.ts'
import { type ExportHeader, type ExportLine, evidenceSum, readExportLine, replacedSumInEntry, sumInEntry } from './export.ts'

/** Result of verifying an export against checkpoints. */
export type Proof = Readonly<{
  chain: string
  ok: boolean
  /** The reason of a failure, and the number of the first broken entry if there is one. */
  reason?: string
  brokenAt?: number
  /** Number of linked entries, from the first. */
  entries: number
  head: ChainHead
  /** The last entry covered by a valid signature: entries up to it are unchanged since then. */
  proved: Readonly<{ count: number; at: string; keyId: string }> | null
  /** Number of linked entries after it, not yet signed. */
  unsigned: number
  /**
   * Records that entries name by checksum; `absent` ones are not in the file, so they stay unverified. `replaced` ones were overwritten by a
   * later result of the same attempt, which a later entry names.
   */
  evidence: Readonly<{ proved: number; absent: number; replaced: number }>
}>

/** `other-key`: the key is not trusted. */
export type SignatureVerdict = 'good' | 'bad' | 'other-key'

type ProofDeps = Readonly<{
  /** Checkpoints stored outside the log; may include other chains. */
  checkpoints: readonly Checkpoint[]
  /** Checks with keys stored outside the log, or else with the key in the export. */
  verifySignature: (checkpoint: Checkpoint, header: ExportHeader) => SignatureVerdict
  /** True if an export without any signature must fail, because the operator passed a key. */
  needsSignature?: boolean
}>

/** The first fault; ends the verification. */
type Broken = Readonly<{ reason: string; brokenAt?: number }>

/**
 * Recomputes every hash and compares every checkpoint with the entry it signed and every evidence with its checksum, in one pass. Hashes
 * detect changed, missing, moved and added entries; checkpoints detect a chain that was rewritten completely or truncated.
 */
export async function proveExport(lines: AsyncIterable<string> | Iterable<string>, deps: ProofDeps): Promise<Proof> {
  const verification = new Verification(deps)
  for await (const line of lines) {
    if (line === '') continue
    const broken = verification.step(readExportLine(line))
    if (broken) return verification.proof(broken)
  }
  return verification.proof(verification.end())
}

/** State of verifying one export, line by line. */
class Verification {
  readonly #deps: ProofDeps
  #header: ExportHeader | undefined
  #head: ChainHead = chainStart
  #proved: Checkpoint | undefined
  #proving = 0
  /** By the number of the signed entry. */
  readonly #waiting = new Map<number, Checkpoint[]>()
  readonly #sums = new Set<string>()
  #replaced = 0
  #ended = false

  constructor(deps: ProofDeps) {
    this.#deps = deps
  }

  step(line: ExportLine | undefined): Broken | undefined {
    if (!line) return { reason: `the file has an invalid line after entry ${this.#head.seq}` }
    if (!this.#header) return line.kind === 'export' ? this.#open(line) : { reason: 'the file does not begin with an export header' }
    if (line.kind === 'export') return { reason: 'the file contains two exports' }
    if (this.#ended) return { reason: 'the file continues after its end line' }
    if (line.kind === 'checkpoint') return this.#expect(line)
    if (line.kind === 'end') return this.#close(line.evidence)
    return line.kind === 'entry' ? this.#follow(line) : this.#compare(line.evidence)
  }

  /** Evidence may be absent because retention deleted it; a wrong count means that the file is incomplete. */
  #close(evidence: number): Broken | undefined {
    this.#ended = true
    const missing = this.#missing(this.#header as ExportHeader)
    if (missing || evidence === this.#proving) return missing
    return { reason: `the file contains the evidence of ${this.#proving} attempts, but declares ${evidence}. fix: export it again` }
  }

  #open(header: ExportHeader): Broken | undefined {
    this.#header = header
    const { checkpoints } = this.#deps
    const ours = checkpoints.filter(({ chain }) => chain === header.chain)
    if (checkpoints.length > 0 && ours.length === 0) return { reason: `none of the checkpoints belongs to chain ${header.chain}` }
    for (const checkpoint of ours) {
      const broken = this.#expect(checkpoint)
      if (broken) return broken
    }
    return undefined
  }

  #expect(checkpoint: Checkpoint): Broken | undefined {
    const { chain, count, at, keyId } = checkpoint
    const header = this.#header as ExportHeader
    if (chain !== header.chain) return { reason: `the export of ${header.chain} contains a checkpoint of ${chain}` }
    if (count <= this.#head.seq) return { reason: `the checkpoint of ${at} is behind the entry it signs` }
    const verdict = this.#deps.verifySignature(checkpoint, header)
    if (verdict === 'other-key') return { reason: `the checkpoint of ${at} is signed with key ${keyId}, which is not trusted` }
    if (verdict === 'bad') return { reason: `the signature of the checkpoint of ${at} is invalid: the checkpoint was changed` }
    this.#waiting.set(count, [...(this.#waiting.get(count) ?? []), checkpoint])
    return undefined
  }

  #follow(entry: Extract<ExportLine, { kind: 'entry' }>): Broken | undefined {
    const { kind, ...content } = entry
    const { chain } = this.#header as ExportHeader
    if (entry.chain !== chain)
      return { brokenAt: this.#head.seq + 1, reason: `entry ${this.#head.seq + 1} belongs to chain ${entry.chain}` }
    const verdict = verifyChain([content], this.#head)
    if (!verdict.ok) return verdict
    this.#head = verdict.head
    const replaced = replacedSumInEntry(entry.data)
    if (replaced && this.#sums.delete(replaced)) this.#replaced++
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
          reason: `entry ${seq} differs from the entry signed at ${checkpoint.at}: the chain was rewritten at or before it`,
        }
      this.#proved = checkpoint
    }
    this.#waiting.delete(seq)
    return undefined
  }

  #compare(evidence: unknown): Broken | undefined {
    if (!this.#sums.delete(evidenceSum(evidence)))
      // Missing entries leave evidence without a name: report the missing entries first.
      return (
        this.#missing(this.#header as ExportHeader) ?? {
          reason: `evidence ${this.#proving + 1} of the file is not named by an entry: it was changed or added`,
        }
      )
    this.#proving++
    return undefined
  }

  end(): Broken | undefined {
    if (!this.#header) return { reason: 'the file is empty' }
    return this.#missing(this.#header) ?? this.#truncated(this.#header) ?? this.#unsigned()
  }

  #truncated({ ends }: ExportHeader): Broken | undefined {
    return ends && !this.#ended
      ? { reason: 'the file is truncated after its entries; evidence may be missing. fix: export it again' }
      : undefined
  }

  #unsigned(): Broken | undefined {
    if (!this.#deps.needsSignature || this.#proved) return undefined
    return { reason: 'the export contains no signature to check with the key. fix: `tenantry audit checkpoint`, then export it again' }
  }

  #missing({ entries }: ExportHeader): Broken | undefined {
    const { seq } = this.#head
    const [later] = [...this.#waiting.values()].flat().toSorted((a, b) => b.count - a.count)
    if (later)
      return {
        brokenAt: seq + 1,
        reason: `the log ends at entry ${seq}, but was signed with ${later.count} entries at ${later.at}: it was truncated`,
      }
    if (seq !== entries)
      return { brokenAt: seq + 1, reason: `the file ends at entry ${seq}, but declares ${entries}. fix: export it again` }
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
      evidence: { proved: this.#proving, absent: this.#sums.size, replaced: this.#replaced },
    }
  }
}
