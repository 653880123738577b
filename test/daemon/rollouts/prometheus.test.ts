import { chmod, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prometheusAt } from '../../../src/daemon/rollouts/index.ts'
import { freePort } from '../../support/free-port.ts'
import { aFolder } from '../../support/running-daemon.ts'
import { startPrometheus } from '../../support/running-prometheus.ts'

const success = (resultType: string, result: unknown) => ({ status: 'success', data: { resultType, result } })
const series = (...values: readonly string[]) =>
  success(
    'vector',
    values.map((value, n) => ({ metric: { n: String(n) }, value: [1_767_578_400.123, value] })),
  )

/** What each query answers, and how Prometheus says it. Queries without metrics answer the same on every Prometheus. */
const questions: readonly Readonly<{ query: string; answer: object; said: object; status?: number }>[] = [
  { query: '1', answer: { value: '1' }, said: success('scalar', [1_767_578_400, '1']) },
  { query: 'vector(0.25)', answer: { value: '0.25' }, said: series('0.25') },
  { query: 'vector(1) / 0', answer: { value: '+Inf' }, said: series('+Inf') },
  { query: '-vector(1) / 0', answer: { value: '-Inf' }, said: series('-Inf') },
  { query: 'vector(1e30)', answer: { value: '1e+30' }, said: series('1e+30') },
  { query: 'vector(0) / 0', answer: { noAnswer: { code: 'NOT_A_NUMBER', message: 'the value is NaN' } }, said: series('NaN') },
  {
    query: '"text"',
    answer: { noAnswer: { code: 'NOT_A_NUMBER', message: 'the query answers a string' } },
    said: success('string', [1_767_578_400, 'text']),
  },
  {
    query: 'vector(1)[5m:1m]',
    answer: { noAnswer: { code: 'NOT_A_NUMBER', message: 'the query answers a matrix' } },
    said: success('matrix', [{ metric: {}, values: [[1_767_578_400, '1']] }]),
  },
  { query: 'absent(vector(1))', answer: { noAnswer: { code: 'EMPTY', message: 'no series matches' } }, said: series() },
  {
    query: 'label_replace(vector(1), "n", "1", "", "") or vector(2)',
    answer: { noAnswer: { code: 'SEVERAL', message: '2 series match instead of one' } },
    said: series('1', '2'),
  },
  {
    query: 'sum(',
    answer: { noAnswer: { code: 'REFUSED', message: expect.stringContaining('parse error') } },
    said: { status: 'error', errorType: 'bad_data', error: 'invalid parameter "query": 1:5: parse error: unclosed left parenthesis' },
    status: 400,
  },
]

/** A server that answers as the function says. */
async function aServer(answer: (request: IncomingMessage, response: ServerResponse, body: string) => unknown) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    await answer(request, response, body)
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, close }
}

const fakePrometheus = () =>
  aServer(({ method, url }, response, body) => {
    if (method !== 'POST' || url !== '/api/v1/query') return response.writeHead(404).end()
    const known = questions.find(({ query }) => query === new URLSearchParams(body).get('query'))
    return response.writeHead(known?.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(known?.said))
  })

const realPrometheus = async () => {
  const prometheus = await startPrometheus(await freePort())
  for (let tries = 0; !(await prometheus.isReady()); tries++) {
    if (tries > 600) throw new Error('these tests need prometheus: apt-get install -y --no-install-recommends prometheus')
    await sleep(50)
  }
  return prometheus
}

describe.each([
  ['a fake Prometheus', fakePrometheus],
  ['a real Prometheus', realPrometheus],
])('%s', (_, start) => {
  let prometheus: Readonly<{ url: string; close(): unknown }>
  beforeAll(async () => {
    prometheus = await start()
  }, 60_000)
  afterAll(() => prometheus?.close())

  test.each(questions)('answers $query', async ({ query, answer }) => {
    expect(await prometheusAt(prometheus)?.(query)).toEqual(answer)
  })

  test('is found also where its address ends in a slash', async () => {
    expect(await prometheusAt({ url: `${prometheus.url}/` })?.('1')).toEqual({ value: '1' })
  })
})

describe('without a good answer', () => {
  const askOf = async (answer: Parameters<typeof aServer>[0], tokenFile?: string) => {
    const { url, close } = await aServer(answer)
    try {
      return await prometheusAt({ url, tokenFile })?.('1')
    } finally {
      close()
    }
  }
  const is = (code: string, message: unknown) => ({ noAnswer: { code, message } })

  test('there is none to ask without an address', () => {
    expect(prometheusAt({})).toBeUndefined()
  })

  test('a closed port is told without the path of its address', async () => {
    const port = await freePort()
    expect(await prometheusAt({ url: `http://127.0.0.1:${port}/secret` })?.('1')).toEqual(
      is('UNREACHABLE', `http://127.0.0.1:${port} does not answer (ECONNREFUSED)`),
    )
  })

  test.each([
    [401, '', is('REFUSED', 'HTTP 401')],
    [503, 'no healthy upstream', is('UNREACHABLE', 'HTTP 503')],
    [302, '', is('REFUSED', 'HTTP 302')],
    [200, '<html>', is('UNREACHABLE', 'the answer is not one of Prometheus')],
    [
      200,
      '{"status":"success","data":{"resultType":"vector","result":[{"value":[1]}]}}',
      is('UNREACHABLE', 'the answer is not one of Prometheus'),
    ],
    [422, '{"status":"error","errorType":"execution","error":"query timed out"}', is('REFUSED', 'query timed out')],
  ])('%i %s', async (status, body, expected) => {
    expect(await askOf((_, response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body))).toEqual(expected)
  })

  test('an answer that never ends is left after some bytes', async () => {
    let sent = 0
    function* endless() {
      for (; sent < 400; sent++) yield 'a'.repeat(64 * 1024)
    }
    const answer = await askOf((_, response) => pipeline(Readable.from(endless()), response).catch(() => undefined))
    expect(answer).toEqual(is('UNREACHABLE', expect.stringContaining('more than 262144 bytes')))
    expect(sent).toBeLessThan(400)
  })

  test('the token is read at each question, and sent', async () => {
    const file = join(await aFolder('prometheus-token'), 'token')
    const seen: unknown[] = []
    const answer: Parameters<typeof aServer>[0] = ({ headers }, response) => {
      seen.push(headers.authorization)
      response.end(JSON.stringify(series('1')))
    }
    for (const token of ['one', 'two']) {
      await writeFile(file, `${token}\n`)
      await askOf(answer, file)
    }
    expect(seen).toEqual(['Bearer one', 'Bearer two'])
    await writeFile(file, '')
    await chmod(file, 0o600)
    expect(await askOf(answer, file)).toEqual(is('UNREACHABLE', expect.stringContaining(`the token file ${file} (prometheus.tokenFile)`)))
    expect(seen).toHaveLength(2)
  })

  test('only the end of the daemon is an error', async () => {
    const { url, close } = await aServer(() => undefined)
    const leaving = new AbortController()
    const asked = prometheusAt({ url })?.('1', leaving.signal)
    leaving.abort(new Error('leaving'))
    await expect(asked).rejects.toThrow('leaving')
    close()
  })
})
