import type { ChainReport, Proof } from '../../core/audit/index.ts'
import { catalogue, plural, problem } from '../../core/kit/index.ts'
import { type Column, type Context, command, type Style, sections, table, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import type { Given, Proven } from './prove.ts'

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

const state = { title: 'STATE', value: ({ ok }: { ok: boolean }) => (ok ? 'holds' : 'broken'), priority: 1 } as const
const tint = ({ ok }: { ok: boolean }) => (ok ? 'green' : 'red')

const chainColumns: readonly Column<ChainReport>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, minWidth: 10 },
  { ...state, paint: tint },
  { title: 'ENTRIES', value: ({ entries }) => entries, priority: 2, align: 'right' },
  { title: 'BROKEN AT', value: ({ brokenAt }) => brokenAt, priority: 1, align: 'right' },
  { title: 'WHY', value: ({ reason }) => reason, priority: 2, minWidth: 20 },
  { title: 'HEAD', value: ({ head }) => head.hash.slice(0, 16), priority: 4 },
]

/** What the daemon found in its own log. */
function chainsView(chains: readonly ChainReport[], style: Style): string {
  const broken = chains.filter(({ ok }) => !ok)
  const verdict =
    broken.length === 0
      ? style.paint.green(`${plural(chains.length, 'chain holds', 'chains hold')} together.`)
      : style.paint.red(
          `${broken.length} of ${plural(chains.length, 'chain')} broken: keep the database as it is and compare with a backup.`,
        )
  return sections(chains.length > 0 ? table(style, chainColumns, chains) : '', verdict)
}

const proofColumns: readonly Column<Proof>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, minWidth: 10 },
  { ...state, paint: tint },
  { title: 'ENTRIES', value: ({ entries }) => entries, priority: 2, align: 'right' },
  { title: 'PROVED TO', value: ({ proved }) => proved?.count, priority: 1, align: 'right' },
  { title: 'SIGNED AT (UTC)', value: ({ proved }) => proved?.at.slice(0, 19).replace('T', ' '), priority: 2 },
  { title: 'KEY', value: ({ proved }) => proved?.keyId, priority: 3 },
  { title: 'EVIDENCE', value: ({ evidence }) => evidence.proved || null, priority: 3, align: 'right' },
]

/** What was proved here, entry by entry, and on what it stands. */
function proofsView({ proofs, trust, passedOver }: Proven, style: Style): string {
  const broken = proofs.filter(({ ok }) => !ok)
  const reasons = broken.map(({ chain, reason }) => style.paint.red(`${chain ? `${chain}: ` : ''}${reason}.`)).join('\n')
  return sections(
    table(style, proofColumns, proofs),
    reasons,
    broken.length > 0 ? 'Keep the file and the database as they are, and compare with a backup.' : proofs.flatMap(remarks).join('\n'),
    broken.length > 0 ? '' : standsOn(trust),
    passedOver > 0
      ? `${plural(passedOver, 'line')} of the checkpoint file ${passedOver === 1 ? 'is' : 'are'} no checkpoint and was passed over.`
      : '',
  )
}

function remarks({ chain, proved, unsigned, evidence }: Proof): string[] {
  return [
    proved
      ? `${chain}: nothing up to entry ${proved.count} was changed since it was signed at ${proved.at}.`
      : `${chain}: nothing of it is signed yet.`,
    ...(unsigned > 0
      ? [`${chain}: ${plural(unsigned, 'entry', 'entries')} after that ${unsigned === 1 ? 'is' : 'are'} linked, not yet signed.`]
      : []),
    ...(evidence.absent > 0 ? [`${chain}: the evidence of ${plural(evidence.absent, 'attempt')} is not in the file; its sums are.`] : []),
  ]
}

const standsOn = (trust: Proven['trust']): string =>
  trust === 'none'
    ? 'Checkpoints and key came with the log itself: whoever wrote it anew could have made them too. Compare the key with one that was kept elsewhere, or give --checkpoint.'
    : ''
