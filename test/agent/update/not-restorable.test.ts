import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { readCompose } from '../../../src/agent/boxes/index.ts'
import { aWorld, newSynapse } from './an-update.ts'

describe('a box whose compose file was edited', () => {
  test('is refused before anything stops when no restore could replace its volumes', async () => {
    const world = await aWorld()
    const { composeFile } = world.box.project
    const text = (await world.compose()).replace('{ name: box-oak-postgres }', '{ name: box-oak-postgres, external: true }')
    await writeFile(composeFile, text)
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'NOT_RESTORABLE', message: expect.stringMatching(/line 8/) },
    })
    expect(await readFile(composeFile, 'utf8')).toBe(text)
  })

  test.each([
    ['a name from a variable', (text: string) => text.replace('name: box-oak-postgres', `name: "\${STACK:-box}-oak-postgres"`)],
    [
      'an anchor',
      (text: string) => `x-v: &v { name: box-oak-postgres }\n${text.replace('postgres: { name: box-oak-postgres }', 'postgres: *v')}`,
    ],
  ])('is rolled back when the new image dies: %s', async (_, change) => {
    const world = await aWorld()
    world.inject({ kind: 'dies-at-start', image: newSynapse })
    await writeFile(world.box.project.composeFile, change(await world.compose()))
    const result = await world.run()
    expect(result).toMatchObject({ outcome: 'rolled_back' })
    expect(readCompose(await world.compose(), 'box-oak').database?.volume).toMatch(/^box-oak-postgres-r[0-9a-f]{8}-1$/)
  })
})
