import { expect, test } from 'vitest'
import { publishedBy } from '../../../src/agent/docker/host-containers.ts'

test('ports that the owner chose are addresses; one that the engine chose is another one after the next start', () => {
  const at = (HostPort: string, HostIp = '127.0.0.1') => ({ HostIp, HostPort })
  const ports = {
    '8008/tcp': [at('8008', '0.0.0.0'), at('8008', '::')],
    '8083/tcp': [at('32768')],
    '3478/udp': [at('3478')],
    '9000/tcp': null,
  }
  expect(publishedBy(ports, { '8008/tcp': [at('8008', '')], '8083/tcp': [at('')], '3478/udp': [at('3478')] })).toEqual([
    { address: '', port: 8008 },
  ])
  expect(publishedBy(ports, { '8083/tcp': [at('0')] })).toEqual([])
  expect(publishedBy(undefined, undefined)).toEqual([])
})
