import { type BoxMove, lifecycleQuestions, movePlanTexts } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, assertConfirmedOf, type Context, clean, command, flag, stamp, text } from '../kit/index.ts'
import { followCommands } from './await-command.ts'
import { moveView } from './lifecycle.view.ts'
import { getBox } from './show.ts'

export const move = command('move <slug>', 'Move a box to another host', {
  options: {
    to: text('--to <host>', 'target host'),
    reason: text('--reason <text>', 'reason, shown to others'),
    oldHostIsDead: text('--old-host-is-dead <host>', 'its host is permanently lost: rebuild from the newest snapshot'),
    confirm: flag('--confirm', 'confirm the move and delete the old copy'),
    back: flag('--back', 'revert a stalled move'),
    newHostIsDead: text('--new-host-is-dead <host>', 'with --back: the new host is permanently lost'),
    stoppedOnNewHost: flag('--stopped-on-new-host', 'with --back or --old-host-is-dead: you stopped its containers on the new host'),
    wait: flag('--no-wait', 'do not wait for the agents'),
  },
  run: async (context, { slug, wait, ...flags }) => {
    const begun = await begin(context, slug, flags)
    return wait ? followCommands(context, slug, { begun, again: () => latest(context, slug, begun) }) : begun
  },
  view: moveView,
  exit: (moved, { confirm, back, wait }) => (wait && !hasEnded(moved, { confirm, back }) ? 1 : 0),
  examples: ['move anna-schule --to host-2 --reason "host-1 is full"', 'move anna-schule --confirm'],
})

type Flags = Readonly<{
  to: string | undefined
  reason: string | undefined
  oldHostIsDead: string | undefined
  confirm: boolean
  back: boolean
  newHostIsDead: string | undefined
  stoppedOnNewHost: boolean
}>

function begin(context: Context, slug: string, flags: Flags): Promise<BoxMove> {
  if (flags.confirm) return confirmMove(context, slug)
  if (flags.back) return giveBack(context, slug, flags)
  return startMove(context, slug, flags)
}

function hasEnded(moved: BoxMove, { confirm, back }: Readonly<{ confirm: boolean; back: boolean }>): boolean {
  if (confirm) return moved.state === 'done'
  return back ? moved.state === 'given_back' || moved.state === 'failed' : isOnNewHost(moved)
}

/** The box runs on its new host. An operator confirms the move when it is convenient. */
export const isOnNewHost = ({ state, error }: BoxMove): boolean => state === 'done' || (state === 'confirming' && !error)

type Started = Pick<Flags, 'to' | 'reason' | 'oldHostIsDead' | 'stoppedOnNewHost'> & Readonly<{ isConfirmed?: boolean }>

async function startMove(
  { api, ask, notify, clock }: Context,
  slug: string,
  { to, reason, oldHostIsDead, stoppedOnNewHost, isConfirmed = false }: Started,
): Promise<BoxMove> {
  if (!to) throw problem('USAGE', `a target host is required. fix: --to <host>`)
  if (!reason) throw problem('USAGE', 'a reason is required. fix: --reason <text>')
  const dead = { ...(oldHostIsDead === undefined ? {} : { oldHostIsDead }), ...(stoppedOnNewHost ? { stoppedOnNewHost } : {}) }
  const plan = await api.boxes.planMove({ params: { slug }, body: { to, ...dead } })
  const takenAt = plan.snapshot ? stamp(plan.snapshot.takenAt, clock.now()) : undefined
  for (const text of movePlanTexts(slug, plan, takenAt)) notify(clean(text))
  if (!isConfirmed) await assertConfirmed(ask, lifecycleQuestions.move(slug, plan))
  return api.boxes.moveBox({ params: { slug }, body: { to, reason, ...dead } })
}

/** Rebuilds a box of a lost host on another one, from its newest snapshot. It asks nothing: the operator confirmed the restore. */
export async function moveFromLostHost(
  context: Context,
  slug: string,
  { to, reason }: Readonly<{ to: string; reason: string }>,
): Promise<BoxMove> {
  const { host } = await getBox(context, slug)
  const begun = await startMove(context, slug, { to, reason, oldHostIsDead: host, stoppedOnNewHost: false, isConfirmed: true })
  return followCommands(context, slug, { begun, again: () => latest(context, slug, begun) })
}

async function confirmMove(context: Context, slug: string): Promise<BoxMove> {
  await assertConfirmedOf(context, lifecycleQuestions.confirmMove(slug), () => getBox(context, slug))
  return context.api.boxes.confirmMove({ params: { slug } })
}

async function giveBack(context: Context, slug: string, { newHostIsDead, stoppedOnNewHost }: Flags): Promise<BoxMove> {
  await assertConfirmedOf(context, lifecycleQuestions.moveBack(slug), () => getBox(context, slug))
  const dead = newHostIsDead === undefined ? {} : { newHostIsDead }
  return context.api.boxes.giveBackBox({ params: { slug }, body: { ...dead, ...(stoppedOnNewHost ? { stoppedOnNewHost } : {}) } })
}

async function latest(context: Context, slug: string, begun: BoxMove): Promise<BoxMove> {
  const { move } = await getBox(context, slug)
  return move?.moveId === begun.moveId ? move : { ...begun, commandId: null }
}
