import type { Plan } from '../core/boxes/index.ts'

/** A tenant of the demo. */
type DemoBox = Readonly<{ slug: string; name: string; plan: Plan; host: string; canary: boolean }>

const hosts = ['amsel', 'drossel', 'fink', 'meise', 'sperling', 'zeisig'] as const

/** The box whose new version fails its health checks. */
const unlucky = 'realschule-am-see'

export const before = '1.157.1'
export const after = '1.163.2'

/** The boxes of the demo on their hosts, the manifests before and after, and the daemon's settings that fit their speed. */
export type Fleet = Readonly<{
  simulated: boolean
  hosts: readonly string[]
  boxes: readonly DemoBox[]
  unlucky: string
  before: unknown
  after: unknown
  env: Readonly<Record<string, string>>
}>

// biome-ignore format: a list of names
const light = [
  'kita-regenbogen', 'kita-sonnenschein', 'kita-pusteblume', 'kita-wichtel', 'kita-loewenzahn', 'kita-mondlicht', 'kita-seestern',
  'kita-waldameise', 'kita-kleeblatt', 'hort-nordstern', 'hort-lindenhof', 'hort-muehlbach', 'krippe-spatzennest', 'krippe-igel',
]
const pro = ['grundschule-west', 'grundschule-ost', unlucky, 'gymnasium-nord', 'gesamtschule-mitte', 'montessori-berg', 'waldorf-park']
const dedicated = ['schulverbund-kueste', 'traeger-caritas', 'traeger-stadtwerk']

const displayName = (slug: string) =>
  slug
    .split('-')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join(' ')

const boxesOf = (slugs: readonly string[], plan: Plan) => slugs.map((slug) => ({ slug, name: displayName(slug), plan }))

/** 24 boxes on 6 hosts, with all plans. */
const boxes: readonly DemoBox[] = [...boxesOf(light, 'light'), ...boxesOf(pro, 'pro'), ...boxesOf(dedicated, 'dedicated')].map(
  (box, n) => ({
    ...box,
    host: hosts[n % hosts.length] as string,
    canary: box.slug === 'kita-regenbogen',
  }),
)

/** Image references; `{version}` is replaced by the version of the tier. */
export type ImageNames = Readonly<Record<'edge' | 'synapse' | 'postgres' | 'minio', string>>
type Versions = Readonly<{ postgres: string; minio: string }>

/** A manifest; `pro` is the Synapse version of the tier pro, where it differs. */
export function manifestOf(images: ImageNames, others: Versions, { synapse, pro = synapse }: Readonly<{ synapse: string; pro?: string }>) {
  const tier = (version: string) => ({ migrationsHead: '0000', ...others, synapse: version })
  return { images, tiers: { free: tier(synapse), pro: tier(pro), enterprise: tier(synapse) } }
}

const at = 'registry.demo/tenantry'
const images = {
  edge: `${at}/edge:1.28.0`,
  synapse: `${at}/synapse:v{version}`,
  postgres: `${at}/postgres:{version}`,
  minio: `${at}/minio:{version}`,
}
const others = { postgres: '15.18', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** A manifest of simulated images with the same Synapse version in every tier. */
export const manifestWith = (synapse: string) => manifestOf(images, others, { synapse })

export const simulatedFleet: Fleet = {
  simulated: true,
  hosts,
  boxes,
  unlucky,
  before: manifestWith(before),
  after: manifestWith(after),
  // The simulated boxes update in seconds; with these, plans and probes are in the same clock.
  env: {
    TENANTRY_PROBE_SPACING_MS: '1000',
    TENANTRY_PROBE_TIMEOUT_MS: '8000',
    TENANTRY_ROLLOUTS_ASSUMED_UPDATE_MS: '1000',
  },
}
