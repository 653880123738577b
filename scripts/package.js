// Packs the built programs: `node scripts/package.js [folder]`, by default `.tenantry/packages`. Two packages with the same version:
// tenantry has all programs, tenantry-agent the agent alone, with those files and dependencies that its imports reach. Each has its
// dependencies pinned by an npm-shrinkwrap.json, made from the lockfile, and beside it an SBOM; SHA256SUMS is over all files.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { init, parse } from 'es-module-lexer'

const root = resolve(import.meta.dirname, '..')
const target = resolve(process.argv[2] ?? join(root, '.tenantry/packages'))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const npm = (cwd, ...args) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

await init
if (!existsSync(join(root, 'dist/vendor/index.html'))) throw new Error('the programs are not built. fix: npm run build')
rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
pack({ name: 'tenantry', files: filesOfPackage(), bin: manifest.bin, dependencies: manifest.dependencies })
pack(agentPackage())
const sumOf = (name) =>
  createHash('sha256')
    .update(readFileSync(join(target, name)))
    .digest('hex')
const sums = readdirSync(target).map((name) => `${sumOf(name)}  ${name}\n`)
writeFileSync(join(target, 'SHA256SUMS'), sums.join(''))

/** What `files` of package.json selects. */
function filesOfPackage() {
  const [{ files }] = JSON.parse(npm(root, 'pack', '--dry-run', '--json', '--ignore-scripts'))
  return files.map(({ path }) => path).filter((path) => path !== 'package.json')
}

/** The agent's program, and from there each imported file, each folder that `packageRoot` names, and each package. */
function agentPackage() {
  const bin = { 'tenantry-agent': manifest.bin['tenantry-agent'] }
  const files = new Set(['dist/commit', 'deploy/tenantry-agent.service', 'deploy/README.md', 'CHANGELOG.md'])
  const packages = new Set()
  const follow = (path) => {
    if (files.has(path)) return
    files.add(path)
    const text = readFileSync(join(root, path), 'utf8')
    for (const [, folder] of text.matchAll(/packageRoot\('((?:config|types)\/[^']+)'/g))
      for (const file of filesBelow(folder)) files.add(file)
    // pino loads its transport by a name.
    for (const [, name] of text.matchAll(/\btransport: \{ target: '([^']+)'/g)) packages.add(name)
    for (const { n: name } of parse(text)[0]) {
      if (name === undefined || name.startsWith('node:')) continue
      if (name.startsWith('.')) follow(relative(root, join(root, dirname(path), name)))
      else packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  follow(manifest.bin['tenantry-agent'])
  const dependencies = Object.fromEntries([...packages].sort().map((name) => [name, rangeOf(name)]))
  return { name: 'tenantry-agent', files: [...files], bin, dependencies }
}

function filesBelow(folder) {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function rangeOf(name) {
  const range = manifest.dependencies[name]
  if (range === undefined) throw new Error(`the agent imports ${name}, which is not in "dependencies"`)
  return range
}

function pack({ name, files, bin, dependencies }) {
  const stage = mkdtempSync(join(tmpdir(), 'tenantry-package-'))
  try {
    for (const file of files) cpSync(join(root, file), join(stage, file))
    const { version, description, license, type, engines } = manifest
    const optionalDependencies = name === 'tenantry' ? manifest.optionalDependencies : {}
    const packed = [...files, 'npm-shrinkwrap.json']
    const own = { name, version, description, license, type, engines, bin, files: packed, dependencies, optionalDependencies }
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
    cpSync(join(root, '.npmrc'), join(stage, '.npmrc'))
    cpSync(join(root, 'package-lock.json'), join(stage, 'package-lock.json'))
    // Removes what these dependencies do not need; versions stay.
    npm(stage, 'install', '--package-lock-only', '--silent')
    renameSync(join(stage, 'package-lock.json'), join(stage, 'npm-shrinkwrap.json'))
    writeFileSync(join(target, `${name}-${version}.sbom.json`), npm(stage, 'sbom', '--sbom-format=cyclonedx', '--package-lock-only'))
    npm(stage, 'pack', '--silent', '--pack-destination', target)
  } finally {
    rmSync(stage, { recursive: true })
  }
}
