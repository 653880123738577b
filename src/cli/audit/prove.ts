import { type Checkpoint, type Proof, proveExport, readCheckpoints } from '../../core/audit/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, readTextFile } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import { exportLines } from './export-lines.ts'
import { type Judge, judgeBy } from './keys.ts'

// Loaded only when something is to be proved: help must be instant.

/** What an export or the daemon's log is worth. `trust` says what the proof stands on. */
export type Proven = Readonly<{
  proofs: readonly Proof[]
  /** `checkpoint` or `key` that were kept elsewhere; `none`: all came together, and only the links are proved. */
  trust: 'checkpoint' | 'key' | 'none'
  /** Lines of the checkpoint file that are none: a crash cut them short. */
  passedOver: number
}>

export type Given = Readonly<{
  chain: string | undefined
  export: string | undefined
  checkpoint: string | undefined
  publicKey: string | undefined
}>

/** Proves a file, or else the log that the daemon gives out: its own word counts for nothing. */
export async function prove(context: Context, given: Given): Promise<Proven> {
  const kept = given.checkpoint === undefined ? undefined : readCheckpoints(await readTextFile(given.checkpoint))
  if (kept && kept.checkpoints.length === 0)
    throw problem('USAGE', `${given.checkpoint} holds no checkpoint: \`tenantry audit checkpoint --out <file>\` writes some`)
  const checkpoints = kept?.checkpoints ?? []
  const judge = await judgeBy({
    pem: given.publicKey === undefined ? undefined : await readTextFile(given.publicKey),
    named: kept && new Set(checkpoints.map(({ keyId }) => keyId)),
  })
  const proofs =
    given.export === undefined
      ? await proveLog(context, given, checkpoints, judge)
      : [await proveExport(linesOf(given.export), { checkpoints, judge, needsSignature: given.publicKey !== undefined })]
  const trust = kept ? 'checkpoint' : given.publicKey === undefined ? 'none' : 'key'
  return { proofs, trust, passedOver: kept?.passedOver ?? 0 }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const [{ open }, { createInterface }] = await Promise.all([import('node:fs/promises'), import('node:readline')])
  const unreadable = (code: string | undefined) =>
    problem('USAGE', `${file} cannot be read (${code}): give the path of a file that you may read`)
  const handle = await open(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw unreadable(code)
  })
  try {
    if ((await handle.stat()).isDirectory()) throw unreadable('EISDIR')
    yield* createInterface({ input: handle.createReadStream({ encoding: 'utf8', autoClose: false }), crlfDelay: Number.POSITIVE_INFINITY })
  } finally {
    await handle.close()
  }
}

async function proveLog(context: Context, { chain }: Given, checkpoints: readonly Checkpoint[], judge: Judge): Promise<Proof[]> {
  const wanted = chain === undefined ? undefined : chainOf(chain)
  const chains = [...new Set(checkpoints.map((one) => one.chain))].filter((one) => wanted === undefined || one === wanted)
  if (chains.length === 0) throw problem('USAGE', `the file holds no checkpoint of the chain ${wanted}`)
  const proofs: Proof[] = []
  for (const one of chains.sort()) proofs.push(await proveChain(context, one, checkpoints, judge))
  return proofs
}

async function proveChain(context: Context, chain: string, checkpoints: readonly Checkpoint[], judge: Judge): Promise<Proof> {
  const lines = async function* () {
    for await (const some of exportLines(context, { chain, evidence: true })) yield* some.split('\n')
  }
  try {
    return await proveExport(lines(), { checkpoints, judge })
  } catch (error) {
    if (!isProblem(error, 'NOT_FOUND')) throw error
    const gone = { chain, ok: false, reason: 'the chain was signed, and the log has none of that name any more', brokenAt: 1 }
    return { ...gone, entries: 0, head: { seq: 0, hash: '' }, proved: null, unsigned: 0, evidence: { proved: 0, absent: 0 } }
  }
}
