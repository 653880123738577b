import type { ChainReport } from '../../core/audit/index.ts'
import { catalogue, problem } from '../../core/kit/index.ts'
import { type Context, command, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import type { Given, Proven } from './prove.ts'
import { chainsView, proofsView } from './verify.view.ts'

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
    return (await import('./prove.ts')).prove(context, given)
  },
  (result, style) => ('chains' in result ? chainsView(result.chains, style) : proofsView(result, style)),
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
