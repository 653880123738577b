import type {
  ChatConfigFile,
  ChatEvidence,
  DatabaseEvidence,
  HotCopyFacts,
  ImportEvidence,
  MediaEvidence,
} from '../../../src/core/boxes/index.ts'

export const aConfigFile = (settings: Record<string, unknown>, change: Partial<ChatConfigFile> = {}): ChatConfigFile => ({
  path: '/data/homeserver.yaml',
  changedAt: '2026-01-01T00:00:00+00:00',
  problem: null,
  settings: Object.fromEntries(Object.entries(settings).map(([key, value], at) => [key, { line: at + 1, value }])),
  ...change,
})

export const aChat = (change: Partial<ChatEvidence> = {}): ChatEvidence => ({
  container: 'linden-synapse-1',
  image: 'matrixdotorg/synapse:v1.157.1',
  version: '1.157.1',
  startedAt: '2026-02-01T00:00:00+00:00',
  apps: ['synapse.app.homeserver'],
  ...{ workers: [], unread: [] },
  config: [aConfigFile({ server_name: 'linden.test', macaroon_secret_key: 'top secret' })],
  keyApiName: 'linden.test',
  clientApiAnswers: true,
  signingKeyId: 'ed25519:a_hand',
  otherSigningKeyIds: [],
  ...change,
})

export const aHotCopy = (change: Partial<HotCopyFacts> = {}): HotCopyFacts => ({
  ...{ major: 16, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
  ...change,
})

export const aDatabase = (change: Partial<DatabaseEvidence> = {}): DatabaseEvidence => ({
  container: 'linden-postgres-1',
  image: 'postgres:16',
  name: 'synapse',
  user: 'synapse',
  superuser: 'postgres',
  connections: 3,
  otherClients: [],
  bytes: 100_000_000,
  version: '16.4',
  encoding: 'UTF8',
  schemaVersion: 92,
  compatVersion: 90,
  backgroundUpdates: [],
  missingTables: [],
  otherSchemas: [],
  rows: { users: 3, rooms: 2, events: 40, devices: 5, media: 7 },
  remoteMembers: 0,
  accountDomains: ['linden.test'],
  appservices: [],
  ...{ unreadable: [], extensions: [], extensionUses: [], otherDatabases: [] },
  ...{ dataFolder: '/var/lib/postgresql/data', dataMount: 'named' as const },
  ...{ systemId: '7000', hotCopy: aHotCopy(), locale: null, ownObjects: [] },
  ...change,
})

export const someMedia = (change: Partial<MediaEvidence> = {}): MediaEvidence => ({
  ...{ path: '/media', bytes: 1_000_000, named: 7, checked: 7, missing: [], damaged: [], isLinkable: true },
  ...change,
})

export const anEvidence = (change: Partial<ImportEvidence> = {}): ImportEvidence => ({
  chat: aChat(),
  database: aDatabase(),
  media: someMedia(),
  objects: { container: 'linden-minio-1', path: '/data', bytes: 2_000_000 },
  addresses: [{ container: 'linden-synapse-1', address: '127.0.0.1', port: 8008 }],
  imageFaults: [],
  otherContainers: [],
  freeBytes: 10_000_000_000,
  ...change,
})
