import { expect, test } from 'vitest'
import type { CompletionDeps } from '../../../src/agent/adoption/index.ts'
import { readBoxSecrets } from '../../../src/agent/boxes/index.ts'
import { memoryLocks, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import { type Mortal, mortal } from '../update/mortal.ts'
import { aCompletion, aContext, aStack } from './a-stack.ts'

type Stack = Awaited<ReturnType<typeof aStack>>

const touching = <Port extends object>(port: Port, name: string, { touch }: Mortal): Port =>
  new Proxy(port, {
    get: (target, key) => {
      const member = Reflect.get(target, key) as unknown
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => touch(`${name}.${String(key)}`, async () => (member as (...args: unknown[]) => unknown)(...args))
    },
  })

/** An agent that dies at one of its touches of anything outside itself: engine, servers, records, journal, daemon. */
async function dying(stack: Stack, life: Mortal): Promise<CompletionDeps> {
  const deps = await stack.agent()
  const journal = touching(await openJournal({ store: stack.fileStore, clock: stack.host.clock }), 'journal', life)
  return {
    ...deps,
    engine: touching(deps.engine, 'engine', life),
    servers: touching(deps.servers, 'servers', life),
    boxes: touching(deps.boxes, 'boxes', life),
    journal,
    once: onceOnly({ journal, locks: memoryLocks() }),
  }
}

async function killedAt(stack: Stack, place: number, when: 'before' | 'after'): Promise<boolean> {
  const payload = await stack.seen()
  const life = mortal((touch) => touch === place, when)
  const { context } = aContext({ signal: life.signal })
  const deliver = touching({ deliver: context.deliver }, 'daemon', life)
  await stack.run(payload, await dying(stack, life), { ...context, deliver: deliver.deliver }).catch(() => undefined)
  return life.died()
}

const seenBefore = async (stack: Stack) => (await stack.seen()).expected as string

test.each(['before', 'after'] as const)(
  'killed at a touch, %s its effect, and called again, the box is completed as it would have been',
  async (when) => {
    // Every third, and another third for each kind of death: together they meet every step.
    let place = when === 'before' ? 1 : 2
    for (; ; place += 3) {
      const stack = await aStack()
      const expected = await seenBefore(stack)
      if (!(await killedAt(stack, place, when))) break
      const { context, delivered } = aContext()
      const order = aCompletion({ expected })
      expect(await stack.run(order, undefined, context), `touch ${place}`).toMatchObject({
        applied: true,
        report: { managed: true },
        probe: { verdict: 'ok' },
      })
      const { edgeSecret } = (await readBoxSecrets((await stack.boxes.find('elm'))!.project))!
      expect(await stack.text('edge/conf.d/box.conf')).toContain(edgeSecret)
      for (const outputs of delivered) expect(outputs.edgeSecret).toBe(edgeSecret)
      expect([...stack.host.running('elm')].sort()).toEqual(['edge', 'minio', 'postgres', 'synapse'])
    }
    expect(place).toBeGreaterThan(30)
  },
  180_000,
)

test.each(['before', 'after'] as const)(
  'killed at a touch of an attempt that fails, %s its effect, and called again, the box is as it was',
  async (when) => {
    // The way there was walked above: from where it turns round on, with some of the steps before it.
    for (let place = when === 'before' ? 40 : 42; ; place += 5) {
      const stack = await aStack()
      const expected = await seenBefore(stack)
      const before = await stack.all()
      stack.host.inject({ kind: 'probe-fails' })
      if (!(await killedAt(stack, place, when))) break
      const order = aCompletion({ expected })
      await expect(stack.run(order), `touch ${place}`).rejects.toMatchObject({ code: 'PROBE_FAILED' })
      expect(await stack.all(), `touch ${place}`).toEqual(before)
      expect([...stack.host.running('elm')].sort(), `touch ${place}`).toEqual(['minio', 'postgres', 'synapse'])
      expect(await stack.boxes.find('elm')).toEqual(stack.box)
    }
  },
  180_000,
)
