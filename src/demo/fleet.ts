import type { Plan } from '../core/boxes/index.ts'

/** A tenant of the demo. */
export type DemoBox = Readonly<{ slug: string; name: string; plan: Plan; host: string; canary: boolean }>

export const hosts = ['amsel', 'drossel', 'fink', 'meise', 'sperling', 'zeisig'] as const

/** The box whose new version fails its health checks. */
export const unlucky = 'realschule-am-see'

export const before = '1.157.1'
export const after = '1.163.2'

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
export const fleet: readonly DemoBox[] = [...boxesOf(light, 'light'), ...boxesOf(pro, 'pro'), ...boxesOf(dedicated, 'dedicated')].map(
  (box, n) => ({
    ...box,
    host: hosts[n % hosts.length] as string,
    canary: box.slug === 'kita-regenbogen',
  }),
)

/** A manifest with the same Synapse version in every tier. */
export function manifestWith(synapse: string) {
  const versions = { migrationsHead: '0000', postgres: '15.18', synapse, minio: 'RELEASE.2025-09-07T16-13-09Z' }
  const at = 'registry.demo/tenantry'
  return {
    images: {
      edge: `${at}/edge:1.28.0`,
      synapse: `${at}/synapse:v{version}`,
      postgres: `${at}/postgres:{version}`,
      minio: `${at}/minio:{version}`,
    },
    tiers: { free: versions, pro: versions, enterprise: versions },
  }
}
