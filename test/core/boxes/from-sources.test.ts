import { expect, test } from 'vitest'
import { pullFromSources } from '../../../src/core/boxes/index.ts'
import { type ProblemCode, problem } from '../../../src/core/kit/index.ts'

const [image, own, mirror] = ['registry.example/a/b:1', 'registry.example/a/b', 'mirror.example/cache/a/b']
const registries = { 'registry.example': { mirror: 'mirror.example/cache' } }

/** Tries the sources in order; each returns its name, or fails with the given code. */
async function asked(fails: Readonly<Record<string, ProblemCode>>, given: Parameters<typeof pullFromSources>[1] = { registries }) {
  const sources: string[] = []
  const answer = pullFromSources(image, given, async ({ repository }) => {
    sources.push(repository)
    const code = fails[repository]
    if (code) throw problem(code, `${repository} says ${code}`)
    return repository
  })
  return { sources, answer: await answer.catch((error: unknown) => error) }
}

test.each<[string, Record<string, ProblemCode>, string[], unknown]>([
  ['only the mirror, if it has the image', {}, [mirror], mirror],
  ['also the registry, if the mirror does not answer', { [mirror]: 'REGISTRY_UNAVAILABLE' }, [mirror, own], own],
  ['also the registry, if the mirror lacks the image', { [mirror]: 'PULL_FAILED' }, [mirror, own], own],
  ['also the registry, if the mirror has another digest', { [mirror]: 'DIGEST_MISMATCH' }, [mirror, own], own],
  ['only the mirror, if the failure is local', { [mirror]: 'DISK_FULL' }, [mirror], expect.objectContaining({ code: 'DISK_FULL' })],
  [
    'both, and the error contains both reasons',
    { [mirror]: 'PULL_FAILED', [own]: 'REGISTRY_UNAVAILABLE' },
    [mirror, own],
    expect.objectContaining({
      code: 'REGISTRY_UNAVAILABLE',
      message: `${own} says REGISTRY_UNAVAILABLE; its mirror failed too: ${mirror} says PULL_FAILED`,
    }),
  ],
])('sources tried: %s', async (_, fails, sources, answer) => {
  expect(await asked(fails)).toEqual({ sources, answer })
})

test('without a mirror only the registry is tried, and none after an abort', async () => {
  expect(await asked({}, {})).toEqual({ sources: [own], answer: own })
  const over = { registries, signal: AbortSignal.abort('over') }
  expect(await asked({ [mirror]: 'REGISTRY_UNAVAILABLE' }, over)).toEqual({ sources: [mirror], answer: 'over' })
})
