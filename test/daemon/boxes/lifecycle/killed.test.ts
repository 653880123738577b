import { expect, test } from 'vitest'
import { isoNow, isProblem } from '../../../../src/core/kit/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { dyingAt } from '../../../support/dying.ts'
import { goodAnswer, type LifeWorld, lifeWorld, speaking } from '../../../support/life-world.ts'

const north = { params: { slug: 'north' } }

/** Repeats the call of an operator or agent without a response. A refusal means that the first call had succeeded. */
async function again<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  for (let left = 5; ; left--) {
    try {
      return await call()
    } catch (error) {
      if (isProblem(error) && error.status < 500) return undefined
      if (left === 0) throw error
    }
  }
}

/** Runs agent commands until none is left. */
async function agentsWork(daemon: Pick<LifeWorld, 'offered' | 'post' | 'clock'>, fails: readonly string[]): Promise<void> {
  for (let idle = 0; idle < 2; idle++) {
    for (const host of ['host-1', 'host-2']) {
      const command = await again(() => daemon.offered(host))
      if (!command) continue
      idle = 0
      const error = { code: 'DISK_FULL', message: 'it did not work' }
      const outcome = fails.includes(command.kind) ? { ok: false, error } : { ok: true, result: goodAnswer(command, isoNow(daemon.clock)) }
      await again(() => daemon.post(host, command, outcome))
    }
  }
}

type Story = Readonly<{ name: string; fails: readonly string[]; acts: readonly ((daemon: LifeWorld) => Promise<unknown>)[]; ends: object }>

const api = (daemon: LifeWorld) => daemon.api()
const move = async (daemon: LifeWorld) => (await api(daemon)).moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
const confirm = async (daemon: LifeWorld) => (await api(daemon)).confirmMove(north)
const remove = async (daemon: LifeWorld) =>
  (await api(daemon)).removeBox({ ...north, body: { confirm: 'north', reason: 'the school has left', now: false } })
const undo = async (daemon: LifeWorld) => (await api(daemon)).undoRemoval(north)
const erase = async (daemon: LifeWorld) =>
  (await api(daemon)).removeBox({ ...north, body: { confirm: 'north', reason: 'the school has left', now: true } })

const stories: Story[] = [
  {
    name: 'a move and its confirmation',
    fails: [],
    acts: [move, confirm],
    ends: { hostId: 'hst_host-2', ownershipEpoch: 2, live: true, removal: null, moves: ['done'] },
  },
  {
    name: 'a move that is given back',
    fails: ['tenant-box.take_over'],
    acts: [move],
    ends: { hostId: 'hst_host-1', ownershipEpoch: 3, live: true, removal: null, moves: ['given_back'] },
  },
  {
    name: 'a removal that is undone',
    fails: [],
    acts: [remove, undo],
    ends: { hostId: 'hst_host-1', ownershipEpoch: 2, live: true, removal: null, moves: [] },
  },
  {
    name: 'a removal that is erased',
    fails: [],
    acts: [remove, erase],
    ends: { hostId: 'hst_host-1', ownershipEpoch: 1, live: false, removal: 'erased', moves: [] },
  },
]

onBothDialects('a daemon that is killed at any transaction', (fresh, dialect) => {
  test.each(stories.flatMap((story) => (['before', 'after'] as const).map((when) => [story.name, when, story] as const)))(
    'continues %s (%s the commit)',
    async (_, when, { fails, acts, ends }) => {
      const world = await lifeWorld(await fresh())
      let nth = 1
      for (let died = true; died; nth += dialect === 'sqlite' ? 1 : 5) {
        await emptied(world)
        const { id } = await world.aBox('north')
        const dying = dyingAt(world.db, nth, when)
        const daemon = { ...world, ...speaking({ ...world.room, db: dying.db }) } as LifeWorld
        for (const act of acts) {
          await again(() => act(daemon))
          await agentsWork(daemon, fails)
        }
        died = dying.died()
        const { hostId, ownershipEpoch, live, removal } = await world.box(id)
        const moves = (await world.db.selectFrom('box_moves').select('state').execute()).map(({ state }) => state)
        expect({ nth, hostId, ownershipEpoch, live, removal, moves }).toEqual({ nth, ...ends })
        expect(await world.holds()).toEqual([])
        const open = await world.db.selectFrom('commands').select('id').where('status', 'in', ['queued', 'leased', 'running']).execute()
        expect(open).toEqual([])
      }
      expect(nth).toBeGreaterThan(6) // polls that find nothing are no transactions
    },
    60_000,
  )
})

/** Lets one database serve every death. */
async function emptied({ db }: LifeWorld): Promise<void> {
  const tables = ['box_moves', 'box_removals', 'box_holds', 'box_secrets', 'commands', 'boxes', 'tenants'] as const
  for (const name of tables) await db.deleteFrom(name).execute()
}
