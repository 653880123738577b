import { resolve } from 'node:path'
import optimizeLocales from '@react-aria/optimize-locales-plugin'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, runnerImport } from 'vite'

type Shape = Readonly<{
  method: string
  path: string
  auth: Readonly<Record<string, unknown>>
  returns: object
  multipart?: Readonly<{ part: string }>
}>

const root = import.meta.dirname
const name = 'virtual:endpoints'

/** A page that is built: the console for operators, with `--mode school` the page of schools, or with `--mode vendor` that of vendors. None has an endpoint of another. */
type Page = Readonly<{
  root: string
  base: string
  outDir: string
  locales: string[]
  /** Features of the contract; absent: all. */
  features?: readonly string[]
  has(shape: Shape): boolean
  /** Modules that at least this number of files share are one file. Absent: split by who uses them, which is more bytes for a page that loads most of them. */
  sharedBy?: number
}>

const sharedFile = (minShareCount: number) => ({
  codeSplitting: { groups: [{ name: 'shared', minShareCount, test: /\/(node_modules|src)\// }] },
})

/**
 * `virtual:endpoints`: method, path, lowest role and kind of answer of each endpoint of the page, read from the contract when it is built. The
 * schemas stay out of the browser: they are most of the contract's size, and the daemon validates.
 */
function endpoints({ features, has }: Page): Plugin {
  return {
    name: 'endpoints',
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    async load(id) {
      if (id !== `\0${name}`) return undefined
      const { module } = await runnerImport<{ api: Record<string, Record<string, Shape>> }>(resolve(root, '../core/api.ts'))
      const found = Object.entries(module.api)
        .filter(([feature]) => features?.includes(feature) ?? true)
        .map(([feature, contract]) => [feature, Object.fromEntries(endpointsOf(contract, has))])
      return `export const endpoints = ${JSON.stringify(Object.fromEntries(found))}`
    },
  }
}

const endpointsOf = (contract: Record<string, Shape>, has: Page['has']) =>
  Object.entries(contract)
    .filter(([, shape]) => has(shape))
    .map(([called, shape]) => [called, slim(shape)])

/** A page that keeps a schema loads zod, which compiles code at run time: the content security policy of the console reports that. */
function withoutZod(): Plugin {
  return {
    name: 'without-zod',
    generateBundle(_, bundle) {
      const kept = Object.values(bundle).flatMap((part) =>
        part.type === 'chunk' ? Object.entries(part.modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])) : [],
      )
      const isZod = (id: string) => id.includes('/node_modules/zod/')
      if (!kept.some(isZod)) return
      const importers = kept.filter((id) => !isZod(id) && this.getModuleInfo(id)?.importedIds.some(isZod))
      this.error(`the console would load zod by ${importers.join(', ')}. fix: move what the console needs into a file without schemas`)
    },
  }
}

/** A tuple keeps the first load small: method, path, lowest role, and where it is not JSON the kind of the answer and the part of an upload. */
const slim = ({ method, path, auth, returns, multipart }: Shape) => [
  ...[method, path, lowestRole(auth)],
  ...('safeParse' in returns && !multipart ? [] : ['safeParse' in returns ? 'json' : (returns as { kind: string }).kind]),
  ...(multipart ? [multipart.part] : []),
]

const lowestRole = ({ kind, role, orAdmin }: Shape['auth']) => (kind === 'admin' ? role : kind === 'platform' && orAdmin) || 'admin'

const operators: Page = {
  ...{ root, base: '/console/', outDir: '../../dist/console', locales: ['en-US'] },
  has: ({ auth, path }) =>
    auth.kind === 'admin' || auth.orAdmin !== undefined || path.startsWith('/api/admin/v1/console/') || path === '/readyz',
}

const school: Page = {
  ...{ root: resolve(root, 'school'), base: '/school/', outDir: '../../dist/school', locales: ['en-US', 'de-DE'], sharedBy: 10 },
  features: [
    'school',
    'sessions',
    'passwords',
    'people',
    'branding',
    'audit',
    'billing',
    'maintenance',
    'spaces',
    'boards',
    'runs',
    'modules',
    'marketplace',
  ],
  has: ({ auth, path }) =>
    (auth.kind === 'platform' && auth.developer === undefined && auth.orAdmin === undefined) ||
    path === '/api/auth/v1/school/login' ||
    path === '/api/auth/v1/password/forgot',
}

const vendor: Page = {
  ...{ root: resolve(root, 'vendor'), base: '/vendor/', outDir: '../../dist/vendor', locales: ['en-US'] },
  features: ['vendor'],
  has: ({ auth, path }) => auth.kind === 'vendor' || path === '/api/vendor/v1/links' || path === '/api/vendor/v1/page-sessions',
}

const pages: Readonly<Record<string, Page>> = { school, vendor }

export default defineConfig(({ mode }) => {
  const page = pages[mode] ?? operators
  return {
    root: page.root,
    base: page.base,
    publicDir: resolve(root, 'public'),
    logLevel: 'warn',
    plugins: [endpoints(page), withoutZod(), react(), { ...optimizeLocales.vite({ locales: page.locales }), enforce: 'pre' }],
    build: {
      outDir: resolve(root, page.outDir),
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // A module of the contract or of zod does nothing when it is imported: what a page does not use is left out.
      rolldownOptions: {
        ...(page.sharedBy === undefined ? {} : { output: sharedFile(page.sharedBy) }),
        treeshake: {
          moduleSideEffects: [
            {
              test: /\/src\/(core|console\/kit)\/|\/node_modules\/(zod|react-aria|react-stately|react-aria-components|@react-aria|@internationalized)\//,
              sideEffects: false,
            },
          ],
        },
      },
    },
    server: { proxy: { '/api': 'http://127.0.0.1:8440', '/admin': 'http://127.0.0.1:8440', '/readyz': 'http://127.0.0.1:8440' } },
  }
})
