import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandJournal } from '../../src/agent/journal/index.ts'
import { update } from '../../src/agent/update/index.ts'
import type { BoxCommandPayload, SnapshotMode, UpdateResult, UpdateStep } from '../../src/core/boxes/index.ts'
import { synapseSchemas } from '../support/synapse-schemas.ts'
import { readMessages, sendMessage } from '../testbed/matrix-client.ts'
import { type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse } from './support/conversation.ts'

// Two people write without a pause while their real box is updated and the agent stops in the middle: whatever the chat server acknowledged
// is there afterwards. `RUNS=20` runs it as often.

const runs = Number(process.env.RUNS ?? 2)
const stops: readonly UpdateStep[] = [
  'snapshot',
  'cold-copy',
  'hot-copy',
  'probe',
  'quick-probe',
  'unfence',
  'recreate',
  'check-rollback',
  'commit',
]
const proven: BoxCommandPayload<'tenant-box.update'>['fence'] = {
  mode: 'until-proven',
  formerSchema: 94,
  harmlessUpdates: [...(synapseSchemas.harmlessUpdates ?? [])],
}

/** The default, and now and then what it falls back to. */
const snapshotOf = (run: number): SnapshotMode => (run % 5 === 4 ? 'before' : 'hot')

/** Writes until it is stopped, and keeps what was acknowledged. */
function writeAlways({ anna, ben, roomId }: Conversation, run: number) {
  const acknowledged: string[] = []
  let isOver = false
  const writing = [anna, ben].map(async (person, who) => {
    for (let n = 0; !isOver; n++) {
      const text = `run ${run}, person ${who}, message ${n}`
      const isStored = await sendMessage(person, roomId, text).then(
        () => true,
        () => false,
      )
      if (isStored) acknowledged.push(text)
      await pause(20)
    }
  })
  return {
    stop: async () => {
      isOver = true
      await Promise.all(writing)
      return acknowledged
    },
  }
}

/** Stops the agent when its journal says that the step has begun. */
function stoppedAt(journal: CommandJournal, step: UpdateStep, stop: AbortController): CommandJournal {
  return {
    ...journal,
    append: async (commandId, entry) => {
      const record = await journal.append(commandId, entry)
      if (entry.step === step && entry.mark === 'intent') stop.abort(new Error(`stopped at ${step}`))
      return record
    },
  }
}

describe.skipIf(!testbedExists())('updates of a box that is written to all the time', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let talk: Conversation
  let present: TestbedImageKey = 'synapse-1.157.1'

  beforeAll(async () => {
    agent = await agentOnBox(`writes-${process.pid}`)
    talk = await converse(agent.box, 2)
  })
  afterAll(() => agent?.remove())

  async function runWithStop(key: TestbedImageKey, run: number): Promise<UpdateResult> {
    const { deps, contextOf, payloadOf } = agent
    const payload = payloadOf(key, { ...proven, snapshot: snapshotOf(run) })
    const leaving = new AbortController()
    const journal = stoppedAt(deps.journal, stops[run % stops.length] as UpdateStep, leaving)
    const first = await update({ ...deps, journal })(contextOf(`run.${run}`, leaving.signal), payload).catch((error: Error) => error)
    if (!(first instanceof Error)) return first
    expect(first.message).toMatch(/stopped at|abort/i)
    return update(deps)(contextOf(`run.${run}`), payload)
  }

  test.each(Array.from({ length: runs }, (_, run) => run))('run %i loses no acknowledged message', async (run) => {
    const dies = run % 2 === 1
    const next = present === 'synapse-1.157.1' ? 'synapse-1.163.2' : 'synapse-1.157.1'
    const writing = writeAlways(talk, run)
    const result = await runWithStop(dies ? 'synapse-dies' : next, run)
    const acknowledged = await writing.stop()
    expect(result.outcome).toBe(dies ? 'rolled_back' : 'committed')
    if (!dies) present = next
    const read = new Set((await readMessages(talk.ben, talk.roomId)).map(({ body }) => body))
    expect(acknowledged.filter((text) => !read.has(text))).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(10)
    const { mode, snapshot } = result.downtime ?? {}
    process.stdout.write(`run ${run}: ${result.outcome}, ${mode}, snapshot ${snapshot}, ${acknowledged.length} messages, all there\n`)
  })
})
