import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { drillCompose } from '../../../src/agent/drill/isolated-copy.ts'

const stack = (service = '') => `services:
  postgres: { image: "r/postgres:15.1", ports: ["5432:5432"], volumes: ["db:/data", "./secrets:/run/secrets:ro"], restart: always, healthcheck: { test: [CMD, pg_isready], interval: 2s } }
  minio: { image: "r/minio:1.0", network_mode: host, privileged: true, devices: ["/dev/kvm"], extra_hosts: ["a:1.2.3.4"] }
  synapse: { image: "r/synapse:v1.1.1", networks: [front], container_name: synapse, depends_on: [postgres], environment: { A: b }${service} }
  edge: { image: "r/edge:1.0", ports: ["80:80"] }
networks: { front: {} }
volumes: { db: { name: the-real-one }, other: { external: true } }
`

/** It ends when it ends, and starts no program to be asked how it is. */
const alone = { restart: 'no', healthcheck: { disable: true } }

test('nothing of the outer world is kept: no port, network, right, name or volume of the box', () => {
  expect(parse(drillCompose(stack(), 'drill-1'))).toEqual({
    name: 'drill-1',
    services: {
      postgres: { ...alone, image: 'r/postgres:15.1', volumes: ['db:/data', './secrets:/run/secrets:ro'] },
      minio: { ...alone, image: 'r/minio:1.0' },
      synapse: { ...alone, image: 'r/synapse:v1.1.1', environment: { A: 'b' } },
    },
    networks: { default: { internal: true } },
    volumes: { db: { name: 'drill-1-db' }, other: { name: 'drill-1-other' } },
  })
})

test.each(['/etc:/etc', '~/x:/x', '../neighbour:/x', './a/../../b:/x', '$HOME:/x'])('a mount of %s is refused', (mount) => {
  expect(() => drillCompose(stack(`, volumes: ["${mount}"]`), 'drill-1')).toThrow(/outside the project folder/)
})

test('a stack that lacks a server is refused by its name', () => {
  expect(() => drillCompose(stack().replace(/ {2}minio.*\n/, ''), 'drill-1')).toThrow(/no service minio/)
})
