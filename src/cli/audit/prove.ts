import { type Checkpoint, type Proof, proveExport, readCheckpoints } from '../../core/audit/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, readTextFile } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import { exportLines } from './export-lines.ts'
import { signatureVerifier, type VerifySignature } from './keys.ts'

// Loaded only for a proof: help must be instant.

/** Result of verifying an export or the daemon's log. `trust` is what the signatures were checked against. */
export type Proven = Readonly<{
  proofs: readonly Proof[]
  /** `checkpoint` or `key`: stored outside the log. `none`: checkpoints and key came with the log, so only the links are proved. */
  trust: 'checkpoint' | 'key' | 'none'
  /** Invalid lines of the checkpoint file; a crash may truncate a line. */
  passedOver: number
}>

export type VerifyInput = Readonly<{
  chain: string | undefined
  export: string | undefined
  checkpoint: string | undefined
  publicKey: string | undefined
}>

/** Verifies an export file, or the daemon's log read entry by entry. The daemon's own verdict is not used. */
export async function prove(context: Context, input: VerifyInput): Promise<Proven> {
  const stored = input.checkpoint === undefined ? undefined : readCheckpoints(await readTextFile(input.checkpoint))
  if (stored && stored.checkpoints.length === 0)
    throw problem('USAGE', `${input.checkpoint} contains no checkpoint. fix: \`tenantry audit checkpoint --out <file>\``)
  const checkpoints = stored?.checkpoints ?? []
  const verifySignature = await signatureVerifier({
    pem: input.publicKey === undefined ? undefined : await readTextFile(input.publicKey),
    named: stored && new Set(checkpoints.map(({ keyId }) => keyId)),
  })
  const proofs =
    input.export === undefined
      ? await proveLog(context, input, { checkpoints, verifySignature })
      : [await proveExport(linesOf(input.export), { checkpoints, verifySignature, needsSignature: input.publicKey !== undefined })]
  const trust = stored ? 'checkpoint' : input.publicKey === undefined ? 'none' : 'key'
  return { proofs, trust, passedOver: stored?.passedOver ?? 0 }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const [{ open }, { createInterface }] = await Promise.all([import('node:fs/promises'), import('node:readline')])
  const unreadable = (code: string | undefined) => problem('USAGE', `${file} cannot be read (${code}). fix: pass a readable file`)
  const handle = await open(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw unreadable(code)
  })
  try {
    if ((await handle.stat()).isDirectory()) throw unreadable('EISDIR')
    const input = handle.createReadStream({ encoding: 'utf8', autoClose: false })
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    let failure: NodeJS.ErrnoException | undefined
    input.on('error', (error) => {
      failure = error
      lines.close()
    })
    yield* lines
    if (failure) throw unreadable(failure.code)
  } finally {
    await handle.close()
  }
}

async function proveLog(
  context: Context,
  { chain }: VerifyInput,
  { checkpoints, verifySignature }: Readonly<{ checkpoints: readonly Checkpoint[]; verifySignature: VerifySignature }>,
): Promise<Proof[]> {
  const only = chain === undefined ? undefined : chainOf(chain)
  const chains = [...new Set(checkpoints.map((one) => one.chain))].filter((one) => only === undefined || one === only)
  if (chains.length === 0) throw problem('USAGE', `The checkpoint file contains no checkpoint of chain ${only}.`)
  const proofs: Proof[] = []
  for (const one of chains.sort()) proofs.push(await proveChain(context, one, { checkpoints, verifySignature }))
  return proofs
}

async function proveChain(
  context: Context,
  chain: string,
  { checkpoints, verifySignature }: Readonly<{ checkpoints: readonly Checkpoint[]; verifySignature: VerifySignature }>,
): Promise<Proof> {
  const lines = async function* () {
    for await (const some of exportLines(context, { chain, evidence: true })) yield* some.split('\n')
  }
  try {
    return await proveExport(lines(), { checkpoints, verifySignature })
  } catch (error) {
    if (!isProblem(error, 'NOT_FOUND')) throw error
    const gone = { chain, ok: false, reason: 'the chain was signed, but is missing from the log', brokenAt: 1 }
    return { ...gone, entries: 0, head: { seq: 0, hash: '' }, proved: null, unsigned: 0, evidence: { proved: 0, absent: 0, replaced: 0 } }
  }
}
