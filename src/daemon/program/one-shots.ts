import type { Register } from './run-program.ts'

/** Commands that do one thing and end. What they do is imported when they run: `--help` stays light. */
export const registerOneShots: Register = (program, machine, act) => {
  const admin = program.command('admin').description('Accounts, from the machine itself: the first one, and those who are locked out')
  admin
    .command('create')
    .description('create an account; the password is asked for, or read from stdin or a file')
    .requiredOption('--name <name>', 'what the person types to log in')
    .option('--role <role>', 'viewer, reviewer, operator or admin', 'admin')
    .option('--password-file <file>', 'take the password from the first line of a file')
    .action(act(async (options) => (await import('./admin-create.ts')).adminCreate(machine, options)))
  admin
    .command('unlock')
    .description('forget the failed logins of an account')
    .requiredOption('--name <name>', 'the account')
    .action(act(async (options) => (await import('./admin-rescue.ts')).adminUnlock(machine, options)))
  admin
    .command('reset-totp')
    .description('take the one-time codes of an account away (a lost phone) and end its sessions')
    .requiredOption('--name <name>', 'the account')
    .action(act(async (options) => (await import('./admin-rescue.ts')).adminResetTotp(machine, options)))
  program
    .command('approval-token')
    .description('make the token that an emergency rollout asks for, and the hash that the settings keep')
    .action(act(async (options) => (await import('./approval-token.ts')).approvalToken(machine, options)))
  program
    .command('rekey')
    .description('seal every secret in the database anew under the first key of TENANTRY_SECRET_KEY')
    .action(act(async (options) => (await import('./rekey.ts')).rekey(machine, options)))
  program
    .command('recovery-key')
    .description('make the key that opens every snapshot on the day when the backup key is lost')
    .action(act(async (options) => (await import('./recovery-key.ts')).makeRecoveryKey(machine, options)))
  program
    .command('recovery-password <tenantId...>')
    .description('print what restic needs to open the snapshots of tenants with the recovery key alone')
    .option('--key-file <file>', 'take the recovery key from the first line of a file')
    .action(act(async (options, given) => (await import('./recovery-password.ts')).printRecoveryPasswords(machine, options, given)))
  program
    .command('check-config')
    .description('show the settings in effect, or everything that is wrong with them')
    .action(act(async (options) => (await import('./check-config.ts')).checkConfig(machine, options)))
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document')
    .action(act(async () => (await import('./openapi.ts')).openapi(machine)))
  program
    .command('doctor')
    .description('look whether everything the daemon stands on is well, and say how to mend what is not')
    .action(act(async (options) => (await import('./doctor.ts')).doctor(machine, options)))
}
