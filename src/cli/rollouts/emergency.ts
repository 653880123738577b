import { isProblem, plural, problem, type Secret, secret } from '../../core/kit/index.ts'
import {
  emergencyLackFix,
  emergencyLackText,
  leftOutBoxes,
  movedImages,
  preventsEmergency,
  type RolloutDetail,
  type RolloutPlan,
} from '../../core/rollouts/index.ts'
import { type Context, clean, command, flag, readTextFile, text } from '../kit/index.ts'
import { isRepeatedCall } from './create.ts'
import { blastRadius, type Order, orderOptions, promptOrder } from './emergency-order.ts'
import { exitOfRollout } from './exit.ts'

import { followOptions, resultView } from './follow.ts'
import { followIfRequested } from './watch-rollout.ts'

export const emergency = command('emergency', 'Roll out a security fix to the whole fleet (interactive)', {
  options: {
    ...orderOptions,
    tokenFile: text('--token-file <file>', 'file with the approval token (- is stdin; default: prompt)'),
    confirm: text('--confirm <cve>', 'repeat the CVE id to confirm without a prompt'),
    idempotencyKey: text('--idempotency-key <key>', 'repeat calls with this key return the same rollout'),
    start: flag('--start', 'start without a prompt'),
    skipRefused: flag('--skip-refused', 'skip boxes that the plan blocks'),
    ...followOptions,
  },
  run: async (context, { tokenFile, confirm, idempotencyKey, start, skipRefused, watch, wait, ...input }) => {
    if ((watch || wait || skipRefused) && !start) throw problem('USAGE', '--watch, --wait and --skip-refused require --start')
    if (watch && wait) throw problem('USAGE', 'pass either --watch or --wait')
    await assertMayCreateEmergency(context)
    const order = await promptOrder(context, input)
    const plan = await context.api.rollouts.planRollout({ body: { kind: 'emergency_cve', ...order.targets } })
    showRadius(context, order, plan)
    if (start && !skipRefused && plan.refusals > 0 && !(await isRepeatedCall(context, idempotencyKey))) assertNoneRefused(plan)
    await assertCveTyped(context, order.cveId, confirm)
    const made = await sendOrder(context, order, { tokenFile, idempotencyKey })
    // A repeated call finds the first rollout, which may already have started.
    if (made.status !== 'queued') return followIfRequested(context, made, { watch, wait })
    const isChanged = notifyChanges(context, plan, made)
    notifyLeftOut(context, made)
    if (start && !(isChanged && isInteractive(context))) return startEmergency(context, made, { skipRefused, watch, wait })
    return offerStart(context, made)
  },
  view: resultView,
  exit: exitOfRollout,
  examples: [
    'emergency',
    "emergency --cve CVE-2026-12345 --reason 'rooms of others can be read' --to-chat-server 1.163.2 --triggered-by anna --token-file ~/token --yes --start --wait",
  ],
})

function showRadius({ notify }: Context, order: Order, plan: RolloutPlan): void {
  notify((style) => `\n${blastRadius(order, plan, style)}\n`)
}

/** An emergency with blocked boxes is started only when that was asked for. */
function assertNoneRefused({ refusals }: RolloutPlan): void {
  if (refusals > 0)
    throw problem(
      'PLAN_REFUSED',
      `the plan blocks ${plural(refusals, 'box', 'boxes')}; nothing was sent. fix: repair them, or skip them with \`tenantry rollouts emergency … --start --skip-refused\``,
    )
}

/** Attempts to type the CVE id and the token; more would lock the account. */
const maxTries = 3

/** A mistyped id may be repeated, so that earlier answers are not lost. */
async function assertCveTyped({ ask, yes, notify }: Context, cveId: string, confirmed: string | undefined): Promise<void> {
  const isPrompted = confirmed === undefined && !yes
  for (let tries = 1; ; tries++) {
    const typed = confirmed ?? (yes ? cveId : await ask.text(`Type ${cveId} to confirm:`, `pass --confirm ${cveId} or --yes`))
    if (typed.trim().toUpperCase() === cveId) return
    if (!isPrompted || tries === maxTries) throw problem('CANCELLED', `the CVE id does not match ${cveId}; nothing was sent`)
    notify(`The CVE id does not match ${cveId}.`)
  }
}

type How = Readonly<{ tokenFile: string | undefined; idempotencyKey: string | undefined }>

async function sendOrder(context: Context, order: Order, { tokenFile, idempotencyKey }: How): Promise<RolloutDetail> {
  const { api, ask, notify } = context
  const { reason, triggeredBy, targets } = order
  const headers = idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}
  for (let tries = 1; ; tries++) {
    const token =
      tokenFile === undefined
        ? secret(await ask.password('Approval token', 'pass --token-file (- is stdin)'))
        : await tokenIn(context, tokenFile)
    try {
      return await api.rollouts.createEmergency({ body: { reason, triggeredBy, ...targets, approvalToken: token.reveal() } }, headers)
    } catch (error) {
      if (tokenFile !== undefined || tries === maxTries || !isProblem(error, 'AUTH')) throw error
      notify('The approval token is wrong.')
    }
  }
}

async function tokenIn({ readStdin }: Context, file: string): Promise<Secret> {
  const [token = ''] = (file === '-' ? await readStdin() : await readTextFile(file)).split(/\r?\n/)
  if (token === '') throw problem('USAGE', `${file} has no approval token on its first line`)
  return secret(token)
}

/** Each box that it does not update, with why: an emergency of few boxes must not look complete. */
function notifyLeftOut({ notify }: Context, { plan }: RolloutDetail): void {
  const leftOut = leftOutBoxes(plan.boxes)
  if (leftOut.length > 0) notify(`Left out (${leftOut.length}): ${leftOut.map(clean).join('; ')}`)
}

/** True when the created rollout differs from the shown plan. */
function notifyChanges({ notify }: Context, seen: RolloutPlan, made: RolloutDetail): boolean {
  const changes = movedImages(seen, made.plan)
  if (made.manifestRevision !== seen.manifestRevision) changes.unshift('The manifest has changed since the plan')
  for (const change of changes) notify(`${change}: see \`tenantry rollouts show ${made.id} --plan\``)
  return changes.length > 0
}

/** Prompts are possible and not skipped. */
const isInteractive = ({ ask, yes, json }: Context): boolean => ask.interactive && !yes && !json

type Start = Readonly<{ skipRefused: boolean; watch: boolean; wait: boolean }>

async function startEmergency(context: Context, { id }: RolloutDetail, { skipRefused, ...how }: Start) {
  const started = await context.api.rollouts.startRollout({ params: { id }, body: { skipRefused } }).catch((error: unknown) => {
    context.notify(`emergency ${id} stays queued. Start it later: tenantry rollouts start ${id}`)
    throw error
  })
  return followIfRequested(context, started, how)
}

/** Offers to start and watch the rollout on a terminal. */
async function offerStart(context: Context, made: RolloutDetail) {
  if (!isInteractive(context)) return made
  const { refusals } = made.plan
  const without = refusals > 0 ? `, without ${plural(refusals, 'blocked box', 'blocked boxes')}` : ''
  if (!(await context.ask.confirm(`${made.id} is queued. Start and watch it now${without}?`))) return made
  return startEmergency(context, made, { skipRefused: refusals > 0, watch: true, wait: false })
}

/** Throws FORBIDDEN and CONFIG before the plan and the first prompt, so that no one answers ten prompts in vain. */
async function assertMayCreateEmergency(context: Context): Promise<void> {
  await assertRole(context)
  const { emergencyLacks } = await context.api.rollouts.listRollouts({ query: { limit: 1 } })
  const missing = emergencyLackText(emergencyLacks)
  if (missing === undefined) return
  const text = `${missing}. fix: ${emergencyLackFix(emergencyLacks)}`
  if (preventsEmergency(emergencyLacks)) throw problem('CONFIG', text)
  context.notify(({ paint }) => `${paint.yellow(text)}\n`)
}

/** Scripts get the daemon's error. */
async function assertRole({ api, ask, yes }: Context): Promise<void> {
  if (!ask.interactive || yes) return
  const { account, token } = await api.admin.whoAmI()
  if (token)
    throw problem(
      'FORBIDDEN',
      'an emergency rollout requires a personal login, not an API token. fix: unset TENANTRY_TOKEN, then `tenantry login`',
    )
  if (account.role !== 'admin')
    throw problem(
      'FORBIDDEN',
      `an emergency rollout requires the role admin; ${clean(account.name)} has the role ${account.role}. fix: log in as an admin with \`tenantry login\``,
    )
}
