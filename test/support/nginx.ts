import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

// A real nginx on free ports, recording upstreams, and a client that sends exact bytes.

const program = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx', '/usr/bin/nginx'].find(existsSync)

/** Never skipped: only a real nginx proves the rules of an edge. */
function needProgram(): string {
  if (!program) throw new Error('these tests need a real nginx: apt-get install -y nginx-light')
  return program
}

/** The configuration of nginx packages, without a user switch. `more` is included beside the tested configuration. */
const frame = (folder: string, more: string) => `
worker_processes 1;
error_log ${folder}/error.log notice;
pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  default_type application/octet-stream;
  log_format main '$request';
  access_log off;
  client_body_temp_path ${folder}/temp;
  proxy_temp_path ${folder}/temp;
  fastcgi_temp_path ${folder}/temp;
  uwsgi_temp_path ${folder}/temp;
  scgi_temp_path ${folder}/temp;
  ${more}
  include ${folder}/conf.d/*.conf;
}
`

type Laid = Readonly<{ folder: string; files: ReadonlyMap<string, string>; more?: string }>

/** Writes files below `folder` and returns the path of the main file that includes its `conf.d`. */
async function layOut({ folder, files, more = '' }: Laid): Promise<string> {
  await mkdir(join(folder, 'temp'), { recursive: true })
  for (const [path, text] of files) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await writeFile(join(folder, 'nginx.conf'), frame(folder, more))
  return join(folder, 'nginx.conf')
}

/** The result of `nginx -t`: exit code and output. */
export async function checkNginx(laid: Laid): Promise<{ good: boolean; says: string }> {
  const conf = await layOut(laid)
  return promisify(execFile)(needProgram(), ['-t', '-p', laid.folder, '-c', conf]).then(
    ({ stderr }) => ({ good: true, says: stderr }),
    ({ stderr }) => ({ good: false, says: String(stderr) }),
  )
}

/** Starts nginx and resolves once `port` accepts connections. The returned function stops it. */
export async function startNginx(laid: Laid & Readonly<{ port: number }>): Promise<() => Promise<void>> {
  const conf = await layOut(laid)
  const child = spawn(needProgram(), ['-p', laid.folder, '-c', conf, '-g', 'daemon off; master_process off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let says = ''
  child.stderr.setEncoding('utf8').on('data', (more) => {
    says += more
  })
  const ended = new Promise<void>((over) => child.once('exit', () => over()))
  const answers = async () => child.exitCode !== null || (await accepts(laid.port))
  for (let tries = 0; tries < 500 && !(await answers()); tries++) await setTimeout(20)
  const started = child.exitCode === null && (await accepts(laid.port))
  if (!started) throw new Error(`nginx did not start: ${says}`)
  return async () => {
    child.kill('SIGTERM')
    await ended
  }
}

const accepts = (port: number) =>
  new Promise<boolean>((known) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => known(true)).once('error', () => known(false))
    socket.once('connect', () => socket.destroy())
  })

/** A received request: the target as sent, not decoded. */
type Passed = Readonly<{ method: string; target: string; headers: Readonly<Record<string, string | string[] | undefined>> }>

const said = '{"from":"upstream"}'

/** Records requests and answers 200, or as `answerWith` says; `cutNext` makes it hold the next request until something happened, and then close the connection. */
export async function upstreamBehind() {
  const passed: Passed[] = []
  let cutAfter: (() => Promise<void>) | undefined
  let answer = { status: 200, text: said, isPacked: false }
  const server = createServer((request, response) => {
    passed.push({ method: request.method ?? '', target: request.url ?? '', headers: request.headers })
    const happens = cutAfter
    cutAfter = undefined
    if (happens) return void happens().finally(() => request.socket.destroy())
    request.resume().on('end', () => {
      const isPacked = answer.isPacked && String(request.headers['accept-encoding']).includes('gzip')
      const body = isPacked ? gzipSync(answer.text) : Buffer.from(answer.text)
      const packed = isPacked ? { 'content-encoding': 'gzip' } : {}
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length, ...packed }).end(body)
    })
  })
  await new Promise<void>((ready) => void server.listen(0, '127.0.0.1', ready))
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed())
      server.closeAllConnections()
    })
  const cutNext = (happens: () => Promise<void>) => {
    cutAfter = happens
  }
  /** `isPacked`: with gzip for clients that accept it, as Synapse with `compress: true`. */
  const answerWith = (status = 200, text = said, isPacked = false) => {
    answer = { status, text, isPacked }
  }
  return { port: (server.address() as AddressInfo).port, server, take: () => passed.splice(0), cutNext, answerWith, close }
}

type RawAnswer = Readonly<{ status: number; headers: Readonly<Record<string, string>>; text: string }>

type Asked = Readonly<{ method?: string; headers?: Readonly<Record<string, string>>; body?: string; secureAs?: string }>

/** Sends a request line unchanged: fetch and http would normalize it. */
export const raw = (
  port: number,
  target: string,
  { method = 'GET', headers = {}, body = '', secureAs }: Asked = {},
): Promise<RawAnswer> => {
  const length = body ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  const lines = Object.entries({ host: secureAs ?? 'edge.test', ...length, ...headers })
  const head = [`${method} ${target} HTTP/1.1`, 'connection: close', ...lines.map(([name, value]) => `${name}: ${value}`)]
  return sendBytes(port, `${head.join('\r\n')}\r\n\r\n${body}`, { secureAs })
}

type Sending = Readonly<{ secureAs?: string | undefined; heard?: (text: string) => void }>

/** Sends bytes and reads the whole response; `secureAs` is the TLS server name, whose certificate is not verified. */
export const sendBytes = (port: number, bytes: string, { secureAs, heard }: Sending = {}): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const at = { port, host: '127.0.0.1' }
    const socket = secureAs === undefined ? connect(at) : connectSecurely({ ...at, servername: secureAs, rejectUnauthorized: false })
    let text = ''
    socket.setEncoding('latin1').on('data', (more) => {
      text += more
      heard?.(text)
      // With a response before the end of the request it would wait seconds for the rest.
      if (isWhole(text)) socket.end()
    })
    socket.on('error', reject).on('end', () => resolve(parsed(text)))
    socket.write(bytes, 'latin1')
  })

function isWhole(text: string): boolean {
  const answer = parsed(text)
  return answer.text.length >= Number(answer.headers['content-length'] ?? Number.POSITIVE_INFINITY)
}

function parsed(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(first.split(' ')[1] ?? 0), headers, text: rest.join('\r\n\r\n') }
}

/** Replaces text in a product file by values of this machine. Throws if the text is missing: the test would check another configuration. */
export function exchanged(text: string, exchanges: Readonly<Record<string, string>>): string {
  for (const [from, to] of Object.entries(exchanges)) {
    if (!text.includes(from)) throw new Error(`the file does not hold ${from} any more`)
    text = text.replaceAll(from, to)
  }
  return text
}
