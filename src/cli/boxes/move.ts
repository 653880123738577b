import { type BoxMove, reintroducedText } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, clean, command, flag, stamp, text } from '../kit/index.ts'
import { followCommands } from './await-command.ts'
import { moveView } from './lifecycle.view.ts'
import { getBox } from './show.ts'

export const move = command(
  'move <slug>',
  'Move a box to another host; the old one keeps a stopped copy until you confirm',
  {
    to: text('--to <host>', 'the host that is to carry it'),
    reason: text('--reason <text>', 'why; others see it'),
    oldHostIsDead: text(
      '--old-host-is-dead <host>',
      'the name of its host, typed: it is gone for good, so the newest snapshot is what is left',
    ),
    confirm: flag('--confirm', 'the box is well where it is: the copy on the old host goes'),
    back: flag('--back', 'end a move that hangs: the box runs on its old host again'),
    newHostIsDead: text(
      '--new-host-is-dead <host>',
      'with --back: the name of the new host, typed; it will never say how the take-over ended',
    ),
    wait: flag('--no-wait', 'do not wait for the agents'),
  },
  async (context, { slug, wait, ...wish }) => {
    const begun = await begin(context, slug, wish)
    return wait ? followCommands(context, slug, begun, () => latest(context, slug, begun)) : begun
  },
  moveView,
  {
    // On its new host with an error: it runs there, and could not be opened.
    exit: ({ state, error }, { confirm, back, wait }) =>
      wait && !(good(state, confirm, back) && !(state === 'confirming' && error)) ? 1 : 0,
    examples: ['move anna-schule --to host-2 --reason "host-1 is full"', 'move anna-schule --confirm'],
  },
)

type Wish = Readonly<{
  to: string | undefined
  reason: string | undefined
  oldHostIsDead: string | undefined
  confirm: boolean
  back: boolean
  newHostIsDead: string | undefined
}>

function begin(context: Context, slug: string, wish: Wish): Promise<BoxMove> {
  if (wish.confirm) return confirmed(context, slug)
  if (wish.back) return givenBack(context, slug, wish)
  return moved(context, slug, wish)
}

const good = (state: BoxMove['state'], confirm: boolean, back: boolean): boolean =>
  confirm ? state === 'done' : back ? state === 'given_back' || state === 'failed' : state === 'confirming' || state === 'done'

async function moved({ api, ask, notify, clock }: Context, slug: string, { to, reason, oldHostIsDead }: Wish): Promise<BoxMove> {
  if (!to) throw problem('USAGE', `say where ${slug} is to go: --to <host>`)
  if (!reason) throw problem('USAGE', 'say why, others will ask: --reason <text>')
  const dead = oldHostIsDead === undefined ? {} : { oldHostIsDead }
  const plan = await api.boxes.planMove({ params: { slug }, body: { to, ...dead } })
  if (plan.snapshot) {
    notify(
      `${plan.from} is dead: ${slug} comes back from ${stamp(plan.snapshot.takenAt, clock.now())}. ALL that was written in the ${duration(plan.losesMs)} since is lost.`,
    )
    if (plan.snapshot.damaged)
      notify(
        `That snapshot (${plan.snapshot.snapshotId.slice(0, 8)}) was found DAMAGED, and there is no better one: the move fails, and leaves ${slug} as it is, if a part of it cannot be read.`,
      )
    const { reopens = [] } = plan.snapshot // an older daemon does not know
    if (reopens.length > 0) notify(clean(reintroducedText(slug, reopens)))
  } else notify(`${slug} is shut to its users from the stop on ${plan.from} until it is proven on ${plan.to}; nothing is lost.`)
  await assertConfirmed(ask, `Move ${slug} from ${plan.from} to ${plan.to}?`)
  return api.boxes.moveBox({ params: { slug }, body: { to, reason, ...dead } })
}

async function confirmed({ api, ask }: Context, slug: string): Promise<BoxMove> {
  await assertConfirmed(ask, `Delete the copy of ${slug} on its old host for good?`)
  return api.boxes.confirmMove({ params: { slug } })
}

async function givenBack({ api, ask }: Context, slug: string, { newHostIsDead }: Wish): Promise<BoxMove> {
  await assertConfirmed(ask, `Let ${slug} run on its old host again?`)
  return api.boxes.giveBackBox({ params: { slug }, body: newHostIsDead === undefined ? {} : { newHostIsDead } })
}

async function latest(context: Context, slug: string, begun: BoxMove): Promise<BoxMove> {
  const { move } = await getBox(context, slug)
  return move?.moveId === begun.moveId ? move : { ...begun, commandId: null }
}
