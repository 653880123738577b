import { expect, test } from 'vitest'
import type { Docker } from '../../../src/agent/docker/connect.ts'
import { removeProject } from '../../../src/agent/docker/projects.ts'

const labels = (more: Record<string, string>) => ({ 'com.docker.compose.project': 'elm', ...more })

/** An engine with a project of a chat server and a bridge, which share a volume. */
function anEngine() {
  const gone: string[] = []
  const thing = (name: string) => ({ remove: async () => void gone.push(name) })
  const container = (service: string, ...volumes: string[]) => ({
    Id: service,
    Names: [`/${service}`],
    Labels: labels({ 'com.docker.compose.service': service }),
    Mounts: volumes.map((Name) => ({ Name })),
  })
  const volume = (key: string) => ({ Name: `elm_${key}`, Labels: labels({ 'com.docker.compose.volume': key }) })
  const docker = {
    listContainers: async () => [container('synapse', 'elm_media', 'elm_shared'), container('bridge', 'elm_bridge', 'elm_shared')],
    listNetworks: async () => [{ Id: 'net', Name: 'elm_default', Labels: labels({}) }],
    listVolumes: async () => ({ Volumes: [...['media', 'shared', 'bridge', 'former'].map(volume), { Name: 'elm_x', Labels: labels({}) }] }),
    getContainer: thing,
    getNetwork: thing,
    getVolume: thing,
  }
  return { docker: docker as unknown as Docker, gone }
}

test('other services of the project stay and are reported; only the box is removed', async () => {
  const { docker, gone } = anEngine()
  expect(await removeProject(docker, 'elm', ['media', 'shared'])).toEqual([
    'container synapse',
    'left: container bridge',
    'left: network elm_default',
    'volume elm_media',
    'left: volume elm_shared',
    'left: volume elm_bridge',
    'left: volume elm_former',
    'left: volume elm_x',
  ])
  expect(gone).toEqual(['synapse', 'elm_media'])
})

test('a project that is to go whole goes whole', async () => {
  const { docker, gone } = anEngine()
  await removeProject(docker, 'elm')
  expect(gone).toHaveLength(8)
})
