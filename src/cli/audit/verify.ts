import { type ChainReport, type Checkpoint, type Proof, proveExport, readCheckpoints } from '../../core/audit/index.ts'
import { catalogue, isProblem, problem } from '../../core/kit/index.ts'
import { type Context, command, readTextFile, text } from '../kit/index.ts'
import { chainOf, exportLines } from './export-lines.ts'
import { type Judge, judgeBy } from './keys.ts'
import { chainsView, proofsView } from './verify.view.ts'

/** What an export or the daemon's log is worth. `trust` says what the proof stands on. */
export type Proven = Readonly<{
  proofs: readonly Proof[]
  /** `checkpoint` or `key` that were kept elsewhere; `none`: all came together, and only the links are proved. */
  trust: 'checkpoint' | 'key' | 'none'
  /** Lines of the checkpoint file that are none: a crash cut them short. */
  passedOver: number
}>

type Given = Readonly<{
  chain: string | undefined
  export: string | undefined
  checkpoint: string | undefined
  publicKey: string | undefined
}>

export const verify = command(
  'verify',
  'Check that the log holds together; with a checkpoint, that it is still the one that was signed',
  {
    chain: text('--chain <name>', 'only this chain: admin, or the id of a rollout'),
    checkpoint: text('--checkpoint <file>', 'signed heads that were kept elsewhere'),
    export: text('--export <file>', 'prove this file instead of the daemon’s log: no daemon and no login is needed'),
    publicKey: text('--public-key <file>', 'the key that was kept elsewhere; else the one that comes with the log'),
  },
  async (context, given): Promise<{ chains: ChainReport[] } | Proven> => {
    if (given.export === undefined && given.checkpoint === undefined) return askDaemon(context, given)
    const kept = given.checkpoint === undefined ? undefined : readCheckpoints(await readTextFile(given.checkpoint))
    if (kept && kept.checkpoints.length === 0)
      throw problem('USAGE', `${given.checkpoint} holds no checkpoint: \`tenantry audit checkpoint --out <file>\` writes some`)
    const judge = await judgeBy(given.publicKey === undefined ? undefined : await readTextFile(given.publicKey))
    const checkpoints = kept?.checkpoints ?? []
    const proofs =
      given.export === undefined ? await proveLog(context, given, checkpoints, judge) : [await proveFile(given.export, checkpoints, judge)]
    const trust = kept ? 'checkpoint' : given.publicKey === undefined ? 'none' : 'key'
    return { proofs, trust, passedOver: kept?.passedOver ?? 0 }
  },
  (result, look) => ('chains' in result ? chainsView(result.chains, look) : proofsView(result, look)),
  {
    exit: (result) => (('chains' in result ? result.chains : result.proofs).every(({ ok }) => ok) ? 0 : catalogue.AUDIT_BROKEN.exit),
    examples: [
      'verify',
      'verify --checkpoint kept.jsonl',
      'verify --export rollout.ndjson --checkpoint kept.jsonl --public-key tenantry.pub',
    ],
  },
)

function askDaemon({ api }: Context, { chain, publicKey }: Given) {
  if (publicKey !== undefined) throw problem('USAGE', '--public-key judges signatures: give --checkpoint or --export too')
  return api.audit.verifyAudit({ query: chain === undefined ? {} : { chain: chainOf(chain) } })
}

async function proveFile(file: string, checkpoints: readonly Checkpoint[], judge: Judge): Promise<Proof> {
  return proveExport(linesOf(file), { checkpoints, judge })
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const [{ open }, { createInterface }] = await Promise.all([import('node:fs/promises'), import('node:readline')])
  const handle = await open(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be read (${code}): give the path of a file that you may read`)
  })
  try {
    yield* createInterface({ input: handle.createReadStream({ encoding: 'utf8', autoClose: false }), crlfDelay: Number.POSITIVE_INFINITY })
  } finally {
    await handle.close()
  }
}

/** The daemon gives its entries, and they are judged here: its own word counts for nothing. */
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
