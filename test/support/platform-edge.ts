import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../src/node/index.ts'
import { freePort } from './free-port.ts'
import { exchanged, startNginx, upstreamBehind } from './nginx.ts'
import { aFolder } from './running-daemon.ts'

// The platform's edge in a real nginx, with a recorder in place of the daemon.

const serverName = 'platform.school.example'

/** All test clients are on this machine; this header sets the simulated address. The product's file does not use it. */
export const clients = 'set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;'

/** The installed files, but below `folder`. */
export async function edgeFiles(folder: string, values: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const from = packageRoot('config/edge')
  const paths = (await readdir(from, { recursive: true })).filter((path) => /\.(conf|inc)$/.test(path))
  const read = async (path: string) => [path, (await readFile(join(from, path), 'utf8')).replaceAll('/etc/nginx/', `${folder}/`)] as const
  const files = new Map(await Promise.all(paths.map(read)))
  const conf = files.get('conf.d/tenantry.conf') as string
  return files.set('conf.d/tenantry.conf', exchanged(conf, values))
}

/** A self-signed certificate. */
export async function aCertificate(folder: string) {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${serverName}`]
  await promisify(execFile)('openssl', ['req', ...made, '-keyout', key, '-out', certificate])
  return { key, certificate }
}

/** The values that an operator fills in. */
export const filledIn = (
  { key, certificate }: Awaited<ReturnType<typeof aCertificate>>,
  daemonPorts: number | readonly number[],
  name = serverName,
) => ({
  '{{serverName}}': name,
  // One line a daemon.
  '{{daemon}}': [daemonPorts]
    .flat()
    .map((port) => `127.0.0.1:${port}`)
    .join(';\n  server '),
  '{{certificate}}': certificate,
  '{{certificateKey}}': key,
})

type Ports = Readonly<{ secure: number; plain: number }>

/** The installed edge before daemons on these ports. Resolves once it accepts connections; `close` stops it, `start` starts it again. */
export async function startPlatformEdge(daemonPorts: number | readonly number[], more = '', name = serverName) {
  const folder = await aFolder('platform-edge')
  const ports: Ports = { secure: await freePort(), plain: await freePort() }
  const cert = await aCertificate(folder)
  const files = await edgeFiles(folder, {
    ...filledIn(cert, daemonPorts, name),
    'listen 443 ': `listen 127.0.0.1:${ports.secure} `,
    'listen [::]:443 ': `listen unix:${folder}/secure.sock `,
    'listen 80 ': `listen 127.0.0.1:${ports.plain} `,
    'listen [::]:80 ': `listen unix:${folder}/plain.sock `,
    '/var/log/nginx': folder,
  })
  const start = () => startNginx({ folder, files, more, port: ports.secure })
  return { serverName: name, folder, ports, certificate: cert.certificate, close: await start(), start }
}

export async function aPlatformEdge() {
  const daemon = await upstreamBehind()
  const edge = await startPlatformEdge(daemon.port, clients)
  const close = async () => {
    await edge.close()
    await daemon.close()
  }
  return { ...edge, daemon, close }
}
