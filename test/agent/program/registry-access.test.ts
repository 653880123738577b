import { expect, test } from 'vitest'
import type { CommandContext, CommandExecutors, ContainerEngine, PullOptions } from '../../../src/agent/ports/index.ts'
import { registryAccess } from '../../../src/agent/program/registry-access.ts'
import { loadAgentSettings } from '../../../src/agent/program/settings.ts'
import type { BoxCommandKind, CommandSecrets } from '../../../src/core/boxes/index.ts'
import { isProblem, problem } from '../../../src/core/kit/index.ts'

const registries = { 'docker.io': { mirror: 'mirror.example' } }
const allowedMirrors = ['docker.io=mirror.example']

/** Executors that pull one image, before a daemon that gives what `secrets` says. */
function aHost(fails = false) {
  const pulled: PullOptions[] = []
  const noted: unknown[] = []
  const note = async (_: string, options: PullOptions) => {
    pulled.push(options)
    if (fails) throw problem('PULL_FAILED', 'Cannot pull nginx:1')
  }
  const engine = { pull: note, resolve: note } as unknown as ContainerEngine
  const access = registryAccess({ mirrors: { record: async (named) => void noted.push(named) }, allowedMirrors })
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

test.each([
  ['of another name', { 'docker.io': { mirror: 'evil.example' } }],
  ['below an allowed one', { 'docker.io': { mirror: 'mirror.example/evil' } }],
  ['of another registry', { 'docker.io': {}, 'registry.example': { mirror: 'mirror.example' } }],
  ['with another port', { 'docker.io': { mirror: 'mirror.example:5000' } }],
])('a daemon cannot set a mirror %s: nothing is asked of it, and it is not recorded', async (_, given) => {
  const account = { username: 'puller', password: 'secret' }
  const { pulled, noted, run } = aHost()
  const secrets = async () => ({ registries: { ...given, 'other.example': account } })
  await run('tenant-box.provision', secrets)
  await run('tenant-box.resolve_images', secrets)
  expect(JSON.stringify([pulled, noted])).not.toMatch(/"mirror"/)
  expect(pulled.map((options) => options.registries?.['other.example'])).toEqual([account, account])
})

test('a pull that fails without its mirror says how to allow the mirror', async () => {
  const { run } = aHost(true)
  const evil = async () => ({ registries: { 'docker.io': { mirror: 'near.example:5000/hub' } } })
  const failure = expect.toSatisfy(
    (error) =>
      isProblem(error, 'PULL_FAILED') && /^Cannot pull nginx:1.*fix: add docker.io=near.example:5000\/hub to "mirrors"/.test(error.message),
  )
  await expect(run('tenant-box.provision', evil)).rejects.toEqual(failure)
  await expect(run('tenant-box.resolve_images', evil)).rejects.toEqual(failure)
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

test.each([
  ['docker.io=mirror.example:5000/hub,registry.example:5000=mirror.example/r', true],
  ['', true],
  ['mirror.example', false],
  ['docker.io=', false],
  ['docker.io=https://mirror.example', false],
  ['library=mirror.example', false],
  ['docker.io=mirror.example=x', false],
])('the setting `mirrors` with %j is valid: %s', (TENANTRY_AGENT_MIRRORS, isValid) => {
  const load = () => loadAgentSettings({ env: { TENANTRY_AGENT_MIRRORS } }).mirrors
  if (isValid) expect(load()).toEqual(TENANTRY_AGENT_MIRRORS.split(',').filter(Boolean))
  else expect(load).toThrow(/mirrors.* must be registry=mirror/)
})
