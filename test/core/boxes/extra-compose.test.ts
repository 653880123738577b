import { describe, expect, test } from 'vitest'
import { extraFindings, extraServices } from '../../../src/core/boxes/index.ts'

const ofService = (name: string, service: object, more: object = {}) => extraFindings({ services: { [name]: service }, ...more })

describe('an extra compose file', () => {
  const allowed: [string, object][] = [
    ['labels of the edge', { services: { edge: { labels: { 'traefik.enable': 'true' } } } }],
    ['a network of the edge', { services: { edge: { networks: ['default', 'proxy'] } }, networks: { proxy: { external: true } } }],
    ['settings of PostgreSQL', { services: { postgres: { command: ['postgres', '-c', 'shared_buffers=1GB'], shm_size: '1g' } } }],
    ['settings in one line', { services: { postgres: { command: 'postgres -c work_mem=16MB -c max_connections=50' } } }],
    ['limits', { services: { synapse: { mem_limit: '2g', deploy: { resources: { limits: { cpus: '2' } } } } } }],
    ['a service and its volume', { services: { irc: { image: 'irc:1', volumes: ['irc:/data'] } }, volumes: { irc: {} } }],
    ['extensions of compose', { 'x-log': { driver: 'local' }, services: { minio: { logging: { driver: 'local' } } } }],
  ]
  test.each(allowed)('may have %s', (_, extra) => {
    expect(extraFindings(extra)).toEqual([])
  })

  const refused: [string, string[], RegExp][] = [
    ['an image', ofService('synapse', { image: 'mine:1' }), /image of synapse belongs to the box template\. fix: remove it/],
    ['a volume', ofService('postgres', { volumes: ['other:/var/lib/postgresql/data'] }), /volumes of postgres/],
    ['a network of the chat server', ofService('synapse', { networks: ['default', 'proxy'] }), /networks of synapse/],
    ['a port', ofService('edge', { ports: ['80:8080'] }), /ports of edge/],
    ['an edge outside its own network', ofService('edge', { networks: { proxy: {} } }), /must stay in the network default/],
    ['replicas', ofService('synapse', { deploy: { replicas: 2 } }), /deploy\.replicas of synapse/],
    ['another data folder', ofService('postgres', { command: ['postgres', '-c', 'data_directory=/x'] }), /setting data_directory/],
    ['a setting by another name', ofService('postgres', { command: ['postgres', '-c', 'hba-file=/x'] }), /setting hba_file/],
    ['another option', ofService('postgres', { command: ['postgres', '-D', '/x'] }), /must be postgres -c name=value/],
    ['another program', ofService('postgres', { command: 'sh -c true' }), /must be postgres -c name=value/],
    ['a volume of the box in a service', ofService('backup', { volumes: ['postgres:/data:ro'] }), /backup mounts postgres of the box/],
    ['the long form of it', ofService('backup', { volumes: [{ type: 'volume', source: 'media', target: '/m' }] }), /mounts media/],
    ['the definition of a volume of the box', extraFindings({ volumes: { media: { external: true } } }), /the volume media/],
    ['the definition of its network', extraFindings({ networks: { default: { internal: true } } }), /the network default/],
    ['another project name', extraFindings({ name: 'mine' }), /name is not allowed/],
    ['an include', extraFindings({ include: ['x.yaml'] }), /include is not allowed/],
    ['a list', extraFindings([]), /is not a map/],
  ]
  test.each(refused)('may not have %s', (_, found, says) => {
    expect(found).toEqual([expect.stringMatching(says)])
  })

  test('that is empty says nothing', () => {
    expect([extraFindings(null), extraFindings({ services: null })]).toEqual([[], []])
    expect(extraServices({ services: { edge: {}, irc: {} } })).toEqual(['irc'])
  })
})
