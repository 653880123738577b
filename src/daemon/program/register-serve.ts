import type { Register } from './register.ts'

export const registerServe: Register = (program, machine, act) => {
  program
    .command('serve')
    .description('Run the daemon')
    .action(act(async (options) => (await import('./serve.ts')).serveDaemon(machine, options)))
}
