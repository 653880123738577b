import type { ChainReport, Proof } from '../../core/audit/index.ts'
import { catalogue, plural, problem } from '../../core/kit/index.ts'
import { type Column, type Context, command, type Style, sections, table, text } from '../kit/index.ts'
import { chainOf } from './chain-of.ts'
import type { Proven, VerifyInput } from './prove.ts'

export const verify = command('verify', 'Verify the hash chains of the audit log', {
  options: {
    chain: text('--chain <name>', 'only this chain: admin or a rollout id'),
    checkpoint: text('--checkpoint <file>', 'compare with signed heads stored outside the daemon'),
    export: text('--export <file>', 'verify this file instead of the daemon’s log; works offline'),
    publicKey: text('--public-key <file>', 'trusted public key (default: the key in the log)'),
  },
  run: async (context, input): Promise<{ chains: ChainReport[] } | Proven> => {
    if (input.export === undefined && input.checkpoint === undefined) return verifyOnDaemon(context, input)
    return (await import('./prove.ts')).prove(context, input)
  },
  view: (result, style) => ('chains' in result ? chainsView(result.chains, style) : proofsView(result, style)),
  exit: (result) => (('chains' in result ? result.chains : result.proofs).every(({ ok }) => ok) ? 0 : catalogue.AUDIT_BROKEN.exit),
  examples: [
    'verify',
    'verify --checkpoint checkpoints.jsonl',
    'verify --export rollout.ndjson --checkpoint checkpoints.jsonl --public-key tenantry.pub',
  ],
})

function verifyOnDaemon({ api }: Context, { chain, publicKey }: VerifyInput) {
  if (publicKey !== undefined) throw problem('USAGE', '--public-key requires signatures to check. fix: pass --checkpoint or --export too')
  return api.audit.verifyAudit({ query: chain === undefined ? {} : { chain: chainOf(chain) } })
}

const state = { title: 'STATUS', value: ({ ok }: { ok: boolean }) => (ok ? 'OK' : 'broken'), priority: 1 } as const
const tint = ({ ok }: { ok: boolean }) => (ok ? 'green' : 'red')

const chainColumns: readonly Column<ChainReport>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, minWidth: 10 },
  { ...state, paint: tint },
  { title: 'ENTRIES', value: ({ entries }) => entries, priority: 2, align: 'right' },
  { title: 'BROKEN AT', value: ({ brokenAt }) => brokenAt, priority: 1, align: 'right' },
  { title: 'REASON', value: ({ reason }) => reason, priority: 2, minWidth: 20 },
  { title: 'HEAD', value: ({ head }) => head.hash.slice(0, 16), priority: 4 },
]

/** Shows the daemon's check of its own log. */
function chainsView(chains: readonly ChainReport[], style: Style): string {
  const broken = chains.filter(({ ok }) => !ok)
  const verdict =
    broken.length === 0
      ? style.paint.green(`${plural(chains.length, 'chain')} verified.`)
      : style.paint.red(
          `${broken.length} of ${plural(chains.length, 'chain')} broken. Do not change the database; compare it with a backup.`,
        )
  return sections(chains.length > 0 ? table(style, chainColumns, chains) : '', verdict)
}

const proofColumns: readonly Column<Proof>[] = [
  { title: 'CHAIN', value: ({ chain }) => chain, priority: 1, minWidth: 10 },
  { ...state, paint: tint },
  { title: 'ENTRIES', value: ({ entries }) => entries, priority: 2, align: 'right' },
  { title: 'VERIFIED TO', value: ({ proved }) => proved?.count, priority: 1, align: 'right' },
  { title: 'SIGNED AT (UTC)', value: ({ proved }) => proved?.at.slice(0, 19).replace('T', ' '), priority: 2 },
  { title: 'KEY', value: ({ proved }) => proved?.keyId, priority: 3 },
  { title: 'EVIDENCE', value: ({ evidence }) => evidence.proved || null, priority: 3, align: 'right' },
]

/** Shows proofs made by the CLI, and what they are trusted by. */
function proofsView({ proofs, trust, passedOver }: Proven, style: Style): string {
  const broken = proofs.filter(({ ok }) => !ok)
  const reasons = broken.map(({ chain, reason }) => style.paint.red(`${chain ? `${chain}: ` : ''}${reason}.`)).join('\n')
  return sections(
    table(style, proofColumns, proofs),
    reasons,
    broken.length > 0 ? 'Do not change the file or the database; compare with a backup.' : proofs.flatMap(remarks).join('\n'),
    broken.length > 0 ? '' : trustWarning(trust),
    passedOver > 0 ? `Skipped ${plural(passedOver, 'invalid line')} in the checkpoint file.` : '',
  )
}

function remarks({ chain, proved, unsigned, evidence }: Proof): string[] {
  return [
    proved
      ? `${chain}: entries up to ${proved.count} are unchanged since they were signed at ${proved.at}.`
      : `${chain}: no entry is signed yet.`,
    ...(unsigned > 0 ? [`${chain}: ${plural(unsigned, 'later entry', 'later entries')} linked, not yet signed.`] : []),
    ...(evidence.absent > 0
      ? [`${chain}: the evidence of ${plural(evidence.absent, 'attempt')} is not in the file, only its checksums.`]
      : []),
    ...(evidence.replaced > 0
      ? [`${chain}: the evidence of ${plural(evidence.replaced, 'attempt')} was replaced by a later result of its agent.`]
      : []),
  ]
}

const trustWarning = (trust: Proven['trust']): string =>
  trust === 'none'
    ? 'Checkpoints and key came with the log itself, so a rewritten log could include forged ones. fix: pass --checkpoint or --public-key with a file stored elsewhere.'
    : ''
