import { Readable, Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { childEnvironment, composeArguments } from '../../../src/agent/docker/compose.ts'
import { engineProblem, outputProblem, registryProblem } from '../../../src/agent/docker/engine-problem.ts'
import { pullProgress } from '../../../src/agent/docker/pull.ts'
import { demux } from '../../../src/agent/docker/streams.ts'

test('a busy registry is said so, with what to do', () => {
  const { message } = outputProblem('toomanyrequests: You have reached your pull rate limit', 'Cannot pull r.test/a:1', 'PULL_FAILED')
  expect(message).toMatch(/the registry is busy\). fix: try again in a few minutes$/)
  expect(outputProblem('dial tcp: no such host', 'Cannot pull', 'PULL_FAILED').message).not.toMatch(/busy/)
})

test.each([
  ['manifest for r.test/a:1 not found: manifest unknown: manifest unknown', 'PULL_FAILED'],
  ['pull access denied for a, repository does not exist or may require login', 'PULL_FAILED'],
  ['Error response from daemon: No such image: r.test/a:1', 'PULL_FAILED'],
  ['Get "http://127.0.0.1:9/v2/": dial tcp 127.0.0.1:9: connect: connection refused', 'REGISTRY_UNAVAILABLE'],
  ['dial tcp: lookup r.test: no such host', 'REGISTRY_UNAVAILABLE'],
  ['toomanyrequests: You have reached your pull rate limit', 'REGISTRY_UNAVAILABLE'],
  ['error parsing HTTP 429 response body: invalid character', 'REGISTRY_UNAVAILABLE'],
  ['received unexpected HTTP status: 502 Bad Gateway', 'REGISTRY_UNAVAILABLE'],
  ['unexpected status from HEAD request to https://r.test/v2/a: 504 Gateway Timeout', 'REGISTRY_UNAVAILABLE'],
  ['write /var/lib/docker/tmp/x: no space left on device', 'DISK_FULL'],
  ['failed to register layer: Error processing tar file: write /x: no space left on device', 'DISK_FULL'],
  ['Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?', 'DOCKER_UNAVAILABLE'],
  ['yaml: line 3: found character that cannot start any token', 'COMPOSE_INVALID'],
  ['no such service: minio', 'COMPOSE_INVALID'],
  ['service "a" refers to undefined volume x: invalid compose project', 'COMPOSE_INVALID'],
  ['Bind for 127.0.0.1:8001 failed: port is already allocated', 'PORT_TAKEN'],
  ['listen tcp4 127.0.0.1:8001: bind: address already in use', 'PORT_TAKEN'],
  ['an unknown failure', 'BOX_UNHEALTHY'],
])('%j is %s', (said, code) => {
  expect(outputProblem(said, 'up', 'BOX_UNHEALTHY').code).toBe(code)
})

test.each([
  ['manifest for r.test/a:1 not found: manifest unknown: manifest unknown', 'IMAGE_NOT_FOUND'],
  ['manifest unknown: manifest unknown', 'IMAGE_NOT_FOUND'],
  ['errors:\nname unknown: repository name not known to registry', 'IMAGE_NOT_FOUND'],
  ['failed to resolve reference "r.test/a:1": r.test/a:1: not found', 'IMAGE_NOT_FOUND'],
  ['pull access denied for a, repository does not exist or may require login', 'PULL_FAILED'],
  ['unauthorized: authentication required, name unknown', 'PULL_FAILED'],
  ['dial tcp: lookup r.test: no such host', 'REGISTRY_UNAVAILABLE'],
  ['an unknown failure', 'PULL_FAILED'],
])('of a question to a registry %j is %s', (said, code) => {
  expect(registryProblem(new Error(said), 'Cannot resolve r.test/a:1').code).toBe(code)
})

test('a socket that is missing or closed is the engine, and control characters go no further', () => {
  expect(engineProblem(Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' }), 'up', 'PULL_FAILED').code).toBe('DOCKER_UNAVAILABLE')
  expect(outputProblem('\u001b[31mred', 'up', 'BOX_UNHEALTHY').message).not.toContain('\u001b')
})

test('compose gets every setting as an argument and nothing from the environment', () => {
  const project = { name: 'box-oak', folder: '/b/oak', composeFile: '/b/oak/compose.yaml' }
  expect(composeArguments(project, ['config']).slice(0, 9)).toEqual([
    'compose',
    '--project-name',
    'box-oak',
    '--file',
    '/b/oak/compose.yaml',
    '--project-directory',
    '/b/oak',
    '--env-file',
    '/dev/null',
  ])
  expect(
    Object.keys(childEnvironment({ dockerHost: 'unix:///s', dockerConfig: '/c', childEnvironment: { TENANTRY_OWNER: '/a' } })).sort(),
  ).toEqual(['DOCKER_CONFIG', 'DOCKER_HOST', 'PATH', 'TENANTRY_OWNER'])
})

test('the progress of a pull rises only, and keeps the digest', () => {
  const progress = pullProgress()
  const id = 'aaaaaaaaaaaa'
  expect(progress.take({ status: 'Pulling fs layer', id })).toBeUndefined()
  expect(progress.take({ status: 'Downloading', id, progressDetail: { current: 1, total: 2 } })).toEqual({
    percent: 35,
    detail: '0 of 1 layers',
  })
  expect(progress.take({ status: 'Pulling fs layer', id: 'bbbbbbbbbbbb' })).toBeUndefined()
  expect(progress.take({ status: 'Pull complete', id })).toEqual({ percent: 50, detail: '1 of 2 layers' })
  progress.take({ status: `Digest: sha256:${'a'.repeat(64)}` })
  expect(progress.digest()).toBe(`sha256:${'a'.repeat(64)}`)
})

describe('framed output', () => {
  const frame = (channel: number, text: string) => {
    const head = Buffer.alloc(8)
    head[0] = channel
    head.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([head, Buffer.from(text)])
  }
  const collect = () => {
    const parts: Buffer[] = []
    const stream = new Writable({
      write: (part: Buffer, _, done) => {
        parts.push(part)
        done()
      },
    })
    return { stream, text: () => Buffer.concat(parts).toString() }
  }

  test.each([1, 3, 7, 8, 9, 1000])('is split the same in pieces of %i bytes', async (size) => {
    const whole = Buffer.concat([frame(1, 'out one '), frame(2, 'err'), frame(1, ''), frame(1, 'out two')])
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) => whole.subarray(index * size, (index + 1) * size))
    const [out, err] = [collect(), collect()]
    await demux(Readable.from(pieces), out.stream, err.stream)
    expect([out.text(), err.text()]).toEqual(['out one out two', 'err'])
  })

  test('waits for a slow receiver', async () => {
    let pulled = 0
    const source = Readable.from(
      (function* () {
        for (; pulled < 200; pulled++) yield frame(1, 'x')
      })(),
    )
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const slow = new Writable({ highWaterMark: 1, write: (_, __, done) => void gate.then(() => done()) })
    const running = demux(source, slow, slow)
    await new Promise((resolve) => setImmediate(resolve))
    expect(pulled).toBeLessThan(50)
    open()
    await running
    expect(pulled).toBe(200)
  })
})
