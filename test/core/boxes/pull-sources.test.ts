import { describe, expect, test } from 'vitest'
import { registryOf } from '../../../src/core/boxes/index.ts'
import { pullSources } from '../../../src/core/boxes/pull-sources.ts'

test.each([
  ['nginx', 'docker.io', 'library/nginx'],
  ['matrixdotorg/synapse', 'docker.io', 'matrixdotorg/synapse'],
  ['docker.io/library/nginx', 'docker.io', 'library/nginx'],
  ['registry.example/a/b', 'registry.example', 'a/b'],
  ['127.0.0.1:5055/tenantry/synapse', '127.0.0.1:5055', 'tenantry/synapse'],
  ['localhost/synapse', 'localhost', 'synapse'],
])('%s is of %s, there as %s', (repository, registry, path) => {
  expect(registryOf(repository)).toEqual({ registry, path })
})

describe('sources of a repository', () => {
  const account = { username: 'puller', password: 'p' }
  const ours = { registry: 'registry.example', ...account }

  test('are the registry itself without settings', () => {
    const { mirror, origin } = pullSources('registry.example/synapse', { 'docker.io': { mirror: 'mirror.example', ...account } })
    expect([mirror, origin]).toEqual([undefined, { repository: 'registry.example/synapse', account: undefined }])
  })

  test('begin with the mirror, with the same path', () => {
    const { mirror } = pullSources('nginx', { 'docker.io': { mirror: 'mirror.example:5000/hub' } })
    expect(mirror?.repository).toBe('mirror.example:5000/hub/library/nginx')
  })

  test('send the account of a registry to that registry alone', () => {
    const both = pullSources('registry.example/synapse', { 'registry.example': { mirror: 'mirror.example', ...account } })
    expect(both).toEqual({
      mirror: { repository: 'mirror.example/synapse', account: undefined },
      origin: { repository: 'registry.example/synapse', account: ours },
    })
    const registries = { 'registry.example': { mirror: 'mirror.example/x' }, 'mirror.example': { username: 'm', password: 'q' } }
    const other = pullSources('registry.example/synapse', registries)
    expect(other.mirror?.account).toEqual({ registry: 'mirror.example', username: 'm', password: 'q' })
    expect(other.origin.account).toBeUndefined()
  })

  test('take no account without its password, and nothing from the prototype', () => {
    expect(pullSources('registry.example/a', { 'registry.example': { username: 'puller' } }).origin.account).toBeUndefined()
    expect(pullSources('constructor/a', {}).mirror).toBeUndefined()
  })
})
