import { expect, test } from 'vitest'
import type { CommandContext, CommandExecutors, ContainerEngine, PullOptions } from '../../../src/agent/ports/index.ts'
import { registryAccess } from '../../../src/agent/program/registry-access.ts'
import type { BoxCommandKind, CommandSecrets } from '../../../src/core/boxes/index.ts'
import { isProblem, problem } from '../../../src/core/kit/index.ts'

const registries = { 'docker.io': { mirror: 'mirror.example' } }

/** Executors that pull one image, before a daemon that gives what `secrets` says. */
function aHost() {
  const pulled: PullOptions[] = []
  const noted: unknown[] = []
  const note = async (_: string, options: PullOptions) => void pulled.push(options)
  const engine = { pull: note, resolve: note } as unknown as ContainerEngine
  const access = registryAccess({ record: async (named) => void noted.push(named) })
  const pulling = access.pulling(engine)
  const executors = access.offering({
    'tenant-box.provision': async () => pulling.pull('nginx:1', {}),
    'tenant-box.adopt': async () => pulling.pull('nginx:1', {}),
    'tenant-box.resolve_images': async () => pulling.resolve('nginx:1', {}),
  } as unknown as CommandExecutors)
  const run = (kind: BoxCommandKind, secrets: () => Promise<CommandSecrets>) =>
    (executors[kind] as (context: CommandContext, payload: unknown) => Promise<unknown>)({ secrets } as CommandContext, {})
  return { pulled, noted, pulling, run }
}

test('a command fetches its registry credentials when it pulls, and they are dropped afterwards', async () => {
  const { pulled, noted, pulling, run } = aHost()
  await run('tenant-box.provision', async () => ({ registries }))
  await pulling.pull('nginx:1', {})
  expect(noted).toEqual([registries])
  expect(pulled).toEqual([{ registries }, {}])
})

test('what a tag is is asked of the same registries as it would be pulled from', async () => {
  const { pulled, run } = aHost()
  await run('tenant-box.resolve_images', async () => ({ registries }))
  expect(pulled).toEqual([{ registries }])
})

test('a kind that may not have them is not even asked', async () => {
  const { pulled, run } = aHost()
  await run('tenant-box.adopt', () => Promise.reject(new Error('asked')))
  expect(pulled).toEqual([{}])
})

test('what the daemon refuses is the failure of the pull, and the next pull asks again', async () => {
  const { pulled, run } = aHost()
  const away = () => Promise.reject(problem('UNREACHABLE', 'the daemon is away'))
  await expect(run('tenant-box.provision', away)).rejects.toSatisfy((error) => isProblem(error, 'UNREACHABLE'))
  await run('tenant-box.provision', async () => ({ registries }))
  expect(pulled).toEqual([{ registries }])
})

test('a lost command does not prevent a pull: another running command may fetch the credentials', async () => {
  const { pulled, run } = aHost()
  let answer: (secrets: CommandSecrets) => void = () => undefined
  const good = run(
    'tenant-box.provision',
    () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  )
  const lost = run('tenant-box.provision', () => Promise.reject(problem('LEASE_LOST', 'it is another’s by now')))
  await new Promise((resolve) => setImmediate(resolve))
  answer({ registries })
  await Promise.all([good, lost])
  expect(pulled).toEqual([{ registries }, { registries }])
})
