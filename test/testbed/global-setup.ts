import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** Engine, registry and images for the end-to-end tests: built at the first run (some minutes), found in the cache afterwards. */
export async function setup(): Promise<void> {
  await execa(fileURLToPath(new URL('up.sh', import.meta.url)), { stdio: ['ignore', 'inherit', 'inherit'] })
}
