import { mkdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { newBoxSecrets } from '../../src/agent/boxes/box-secrets.ts'
import { renderedFiles } from '../../src/agent/boxes/index.ts'
import { packageRoot, systemRandom } from '../../src/node/index.ts'
import { freePort } from './free-port.ts'
import { exchanged, startNginx, upstreamBehind } from './nginx.ts'
import { aFolder } from './running-daemon.ts'

// The edge of one box as an agent renders it, in a real nginx; a recorder replaces Synapse's two listeners and the object store.

const facts = {
  slug: 'rose',
  boxId: 'box_1',
  project: 'box-rose',
  chatDomain: 'chat.rose.example',
  publicUrl: 'https://chat.rose.example',
  images: { edge: 'r/edge:1', synapse: 'r/synapse:1', postgres: 'r/postgres:1', minio: 'r/minio:1' },
  ports: { public: 1, platform: 2, probe: 3 },
  binds: { public: '127.0.0.1', platform: '127.0.0.1' },
  maxUploadMegabytes: 1,
}

const edgeFolder = 'edge/'

/** Replaces only ports, folders and upstreams. `more`: further files of the box. */
export async function aBoxEdge(more: Readonly<Record<string, string>> = {}) {
  const folder = await aFolder('box-edge')
  const secrets = newBoxSecrets(systemRandom, facts.boxId)
  const rendered = new Map([...(await renderedFiles(packageRoot('config/box-template'), facts, secrets)), ...Object.entries(more)])
  const [synapse, platformSynapse, minio] = [await upstreamBehind(), await upstreamBehind(), await upstreamBehind()]
  const ports = { public: await freePort(), platform: await freePort(), probe: await freePort(), own: await freePort() }
  const files = new Map(
    [...rendered].filter(([path]) => path.startsWith(edgeFolder)).map(([path, text]) => [relative(edgeFolder, path), text]),
  )
  const conf = files.get('conf.d/box.conf') as string
  const here = exchanged(conf, {
    'listen 8080': `listen ${ports.public}`,
    'listen 8081': `listen ${ports.platform}`,
    'listen 8082': `listen ${ports.probe}`,
    'listen 127.0.0.1:8083': `listen 127.0.0.1:${ports.own}`,
    'box-rose-synapse-1:8008': `127.0.0.1:${synapse.port}`,
    'box-rose-synapse-1:8009': `127.0.0.1:${platformSynapse.port}`,
    'box-rose-minio-1:9000': `127.0.0.1:${minio.port}`,
    '/var/log/nginx': folder,
  })
  const moved = [...files].map(([path, text]) => [path, text.replaceAll('/etc/nginx/', `${folder}/`)] as const)
  const all = new Map([...moved, ['conf.d/box.conf', here.replaceAll('/etc/nginx/', `${folder}/`)]])
  await mkdir(join(folder, 'fence'))
  const stop = await startNginx({ folder, files: all, port: ports.public })
  const close = async () => {
    await stop()
    await Promise.all([synapse.close(), platformSynapse.close(), minio.close()])
  }
  return { facts, ports, secrets, synapse, platformSynapse, minio, fence: join(folder, 'fence', 'on'), close }
}
