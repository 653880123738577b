import { readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type UpdateSteps, updateSteps } from '../../../src/agent/update/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aPayload, aWorld, newSynapse } from './an-update.ts'

// Somebody, or a broken disk, takes the compose file or its backup away while the box is fenced.

type World = Awaited<ReturnType<typeof aWorld>>
const noWhile = { probe: { consecutive: 1, spacingMs: 1_000, timeoutMs: 60_000 } }

async function removeBackups({ box: { project } }: World): Promise<void> {
  const folder = dirname(project.composeFile)
  const backups = (await readdir(folder)).filter((name) => name.startsWith(`${basename(project.composeFile)}.`))
  for (const name of backups) await rm(join(folder, name))
}

const removeCompose = ({ box }: World) => rm(box.project.composeFile, { force: true })

/** The usual steps, and something that happens after one of them. */
const happensAfter = (step: keyof UpdateSteps, happens: () => Promise<void>): UpdateSteps => ({
  ...updateSteps,
  [step]: async (run: Parameters<UpdateSteps['fence']>[0]) => {
    const result = await updateSteps[step](run)
    await happens()
    return result
  },
})

const expectServing = async (world: World) => {
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(await world.image('synapse')).toBe(images.synapse)
  expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
}

describe('a lost backup of the compose file', () => {
  test('between rewrite and recreate: the former file is restored byte for byte from the target', async () => {
    const world = await aWorld()
    const rewrite: UpdateSteps['rewrite'] = async (run) => {
      await updateSteps.rewrite(run)
      await removeBackups(world)
      throw problem('UPDATE_FAILED', 'the disk was away for a moment')
    }
    expect(await world.run(aPayload(noWhile), { steps: { ...updateSteps, rewrite } })).toMatchObject({
      outcome: 'failed',
      error: { code: 'UPDATE_FAILED' },
    })
    expect(await world.compose()).toBe(composeText('oak'))
    await expectServing(world)
  })

  test('after the recreation: the rollback goes on without it', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const steps = happensAfter('recreate', () => removeBackups(world))
    expect(await world.run(aPayload(noWhile), { steps })).toMatchObject({ outcome: 'rolled_back' })
    expect((await world.compose()).replace(/-r[0-9a-f]{8}-[0-9]+/, '')).toBe(composeText('oak'))
    await expectServing(world)
  })

  test('with a file that was edited as well: a failed rollback that says what is gone, behind the fence', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const steps = happensAfter('recreate', async () => {
      await removeBackups(world)
      await writeFile(world.box.project.composeFile, `${await world.compose()}# edited\n`)
    })
    const result = await world.run(aPayload(noWhile), { steps })
    expect(result).toMatchObject({
      outcome: 'rollback_failed',
      error: { code: 'RESTORE_FAILED', message: expect.stringMatching(/backup of .* is gone.*fix: tenantry snapshots restore oak/) },
    })
    expect(await world.fence()).toBeDefined()
  })
})

describe('a compose file that is deleted under the fence', () => {
  test.each(['fence', 'snapshot'] as const)('after %s: the update fails, and the box serves as before', async (step) => {
    const world = await aWorld()
    const result = await world.run(aPayload(), { steps: happensAfter(step, () => removeCompose(world)) })
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'COMPOSE_INVALID', message: expect.stringContaining('deleted') } })
    await expectServing(world)
  })

  test('after the rewrite: the former file is restored', async () => {
    const world = await aWorld()
    const result = await world.run(aPayload(), { steps: happensAfter('rewrite', () => removeCompose(world)) })
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'COMPOSE_INVALID' } })
    expect(await world.compose()).toBe(composeText('oak'))
    await expectServing(world)
  })

  test.each(['recreate', 'restore-stop'] as const)('after %s: the box is rolled back', async (step) => {
    const world = await aWorld()
    if (step === 'restore-stop') world.inject({ kind: 'probe-fails', image: newSynapse })
    const result = await world.run(aPayload(noWhile), { steps: happensAfter(step, () => removeCompose(world)) })
    expect(result.outcome).toBe('rolled_back')
    expect((await world.compose()).replace(/-r[0-9a-f]{8}-[0-9]+/, '')).toBe(composeText('oak'))
    await expectServing(world)
  })

  test('with its backup: a failed rollback, behind the fence', async () => {
    const world = await aWorld()
    const steps = happensAfter('recreate', async () => {
      await removeBackups(world)
      await removeCompose(world)
    })
    expect(await world.run(aPayload(noWhile), { steps })).toMatchObject({ outcome: 'rollback_failed', error: { code: 'RESTORE_FAILED' } })
    expect(await world.fence()).toBeDefined()
  })

  test.each([
    ['deleted', removeCompose],
    ['edited', async (world: World) => writeFile(world.box.project.composeFile, `${await world.compose()}# edited\n`)],
  ])('with its backup between rewrite and recreate, the file %s: the result says that both are gone', async (_, spoil) => {
    const world = await aWorld()
    const steps = happensAfter('rewrite', async () => {
      await spoil(world)
      await removeBackups(world)
    })
    const result = await world.run(aPayload(noWhile), { steps })
    expect(result.error?.message).toMatch(/backup of .*compose\.yaml is gone/)
    expect(result.error?.message).toContain('fix:')
  })
})
