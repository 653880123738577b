import fc from 'fast-check'
import { test } from 'vitest'
import { startRollout } from '../../../src/daemon/rollouts/start-rollout.ts'
import { anOperator } from '../../support/boxes-room.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { happenings, modelFleet } from '../../support/rollout-happenings.ts'
import { aSubject, expectSoundStory } from '../../support/rollout-model.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

test('whatever happens to a rollout in whatever order, what was promised holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.commands(happenings, { maxCommands: 120, size: 'max' }),
      fc.constantFrom(1, 2, 100),
      async (commands, failureThreshold) => {
        const { db } = await emptyDatabase('sqlite')
        try {
          const world = await rolloutWorld(db, modelFleet)
          const subject = await aSubject(world, failureThreshold)
          await startRollout(world.needs, anOperator, { id: subject.id })
          await fc.asyncModelRun(async () => ({ model: { status: await subject.statusOf() }, real: subject }), commands)
          await expectSoundStory(subject)
        } finally {
          await db.destroy()
        }
      },
    ),
    { numRuns: 25 },
  )
}, 300_000)
