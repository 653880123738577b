import { isProblem, plural, problem, type Secret, secret } from '../../core/kit/index.ts'
import type { RolloutDetail, RolloutPlan } from '../../core/rollouts/index.ts'
import { type Context, clean, command, flag, readTextFile, text } from '../kit/index.ts'
import { isRepeatedCall, movedTags } from './create.ts'
import { askOrder, blastRadius, type Order, orderOptions } from './emergency-order.ts'

import { followed, followedView, followOptions } from './follow.ts'
import { exitOfRollout } from './words.ts'

export const emergency = command(
  'emergency',
  'Bring the whole fleet past a security hole: asks step by step, and shows whom it reaches before anything is sent',
  {
    ...orderOptions,
    tokenFile: text('--token-file <file>', 'the approval token on its first line (- is stdin); without it you type it, unseen'),
    confirm: text('--confirm <cve>', 'the CVE id once more, instead of being asked'),
    idempotencyKey: text('--idempotency-key <key>', 'a repeated call with the same key answers the same rollout'),
    start: flag('--start', 'start it, without being asked'),
    skipRefused: flag('--skip-refused', 'start it without the boxes that the plan refuses'),
    ...followOptions,
  },
  async (context, { tokenFile, confirm, idempotencyKey, start, skipRefused, watch, wait, ...given }) => {
    if ((watch || wait || skipRefused) && !start) throw problem('USAGE', '--watch, --wait and --skip-refused need --start')
    if (watch && wait) throw problem('USAGE', 'give --watch or --wait, not both')
    await assertMayCreateEmergency(context)
    const order = await askOrder(context, given)
    const plan = await context.api.rollouts.planRollout({ body: { kind: 'emergency_cve', ...order.targets } })
    showRadius(context, order, plan)
    if (start && !skipRefused && plan.refusals > 0 && !(await isRepeatedCall(context, idempotencyKey))) assertNoneRefused(plan)
    await typedCve(context, order.cveId, confirm)
    const made = await sent(context, order, { tokenFile, idempotencyKey })
    // A repeated call finds what the first one made, and maybe started before its answer was lost.
    if (made.status !== 'queued') return followed(context, made, { watch, wait })
    const isOther = tellOther(context, plan, made)
    if (start && !(isOther && isAsked(context))) return begun(context, made, { skipRefused, watch, wait })
    return offered(context, made)
  },
  followedView,
  {
    exit: exitOfRollout,
    examples: [
      'emergency',
      "emergency --cve CVE-2026-12345 --reason 'rooms of others can be read' --to-chat-server 1.163.2 --triggered-by anna --token-file ~/token --yes --start --wait",
    ],
  },
)

function showRadius({ notify }: Context, order: Order, plan: RolloutPlan): void {
  notify((style) => `\n${blastRadius(order, plan, style)}\n`)
}

/** What could not start is not made either: its versions would be the canonical ones at once. */
function assertNoneRefused({ refusals }: RolloutPlan): void {
  if (refusals > 0)
    throw problem(
      'PLAN_REFUSED',
      `the plan refuses ${plural(refusals, 'box', 'boxes')}, nothing was sent: mend them, or leave them out with \`tenantry rollouts emergency … --start --skip-refused\``,
    )
}

/** Of what must be typed exactly: the CVE id once more, and the token, before the account has to wait. */
const mostTries = 3

/** A person who mistypes it may type it again before all that was answered is lost. */
async function typedCve({ ask, yes, notify }: Context, cveId: string, given: string | undefined): Promise<void> {
  const asked = given === undefined && !yes
  for (let tries = 1; ; tries++) {
    const typed = given ?? (yes ? cveId : await ask.text(`Type ${cveId} to send it:`, `give --confirm ${cveId}, or --yes`))
    if (typed.trim().toUpperCase() === cveId) return
    if (!asked || tries === mostTries) throw problem('CANCELLED', `that is not ${cveId}; nothing was sent`)
    notify(`That is not ${cveId}.`)
  }
}

type How = Readonly<{ tokenFile: string | undefined; idempotencyKey: string | undefined }>

async function sent(context: Context, order: Order, { tokenFile, idempotencyKey }: How): Promise<RolloutDetail> {
  const { api, ask, notify } = context
  const { reason, triggeredBy, targets } = order
  const headers = idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}
  for (let tries = 1; ; tries++) {
    const token =
      tokenFile === undefined
        ? secret(await ask.password('Approval token', 'give --token-file (- is stdin)'))
        : await tokenIn(context, tokenFile)
    try {
      return await api.rollouts.createEmergency({ body: { reason, triggeredBy, ...targets, approvalToken: token.reveal() } }, headers)
    } catch (error) {
      if (tokenFile !== undefined || tries === mostTries || !isProblem(error, 'AUTH')) throw error
      notify('That is not the approval token.')
    }
  }
}

async function tokenIn({ readStdin }: Context, file: string): Promise<Secret> {
  const [token = ''] = (file === '-' ? await readStdin() : await readTextFile(file)).split(/\r?\n/)
  if (token === '') throw problem('USAGE', `${file} has no approval token on its first line`)
  return secret(token)
}

/** True when it was made of something else than what was shown. */
function tellOther({ notify }: Context, seen: RolloutPlan, made: RolloutDetail): boolean {
  const other = movedTags(seen, made.plan)
  if (made.manifestRevision !== seen.manifestRevision)
    other.unshift('The manifest was changed meanwhile, and the emergency builds upon that')
  for (const one of other) notify(`${one}: see \`tenantry rollouts show ${made.id} --plan\``)
  return other.length > 0
}

/** What nobody has seen is begun only where nobody sits to be asked. */
const isAsked = ({ ask, yes, json }: Context): boolean => ask.interactive && !yes && !json

type Start = Readonly<{ skipRefused: boolean; watch: boolean; wait: boolean }>

async function begun(context: Context, { id }: RolloutDetail, { skipRefused, ...how }: Start) {
  const started = await context.api.rollouts.startRollout({ params: { id }, body: { skipRefused } }).catch((error: unknown) => {
    context.notify(`the emergency ${id} stays queued; later: tenantry rollouts start ${id}`)
    throw error
  })
  return followed(context, started, how)
}

/** Whoever sits there may start it at once, and then watches it. */
async function offered(context: Context, made: RolloutDetail) {
  if (!isAsked(context)) return made
  const { refusals } = made.plan
  const without = refusals > 0 ? `, without ${plural(refusals, 'refused box', 'refused boxes')}` : ''
  if (!(await context.ask.confirm(`${made.id} is queued. Start it now${without}, and watch it?`))) return made
  return begun(context, made, { skipRefused: refusals > 0, watch: true, wait: false })
}

/**
 * Refuses who may not make an emergency before the first question: at night nobody should answer ten of them to learn that at the end. The daemon
 * looks again in any case; a script that is asked nothing hears it from there.
 */
async function assertMayCreateEmergency({ api, ask, yes }: Context): Promise<void> {
  if (!ask.interactive || yes) return
  const { account, token } = await api.admin.whoAmI()
  if (token)
    throw problem(
      'FORBIDDEN',
      'an emergency is made by a person and you come with an API token: unset TENANTRY_TOKEN, then `tenantry login`',
    )
  if (account.role !== 'admin')
    throw problem(
      'FORBIDDEN',
      `an emergency is made by an admin, and ${clean(account.name)} is ${account.role}: an admin logs in with \`tenantry login\` and does it`,
    )
}
