import type { Language } from '../../../core/kit/index.ts'

type Lasted = Readonly<{ duration: string; isMeasured: boolean }>

/** Loaded with the notice alone: most days have none. */
export const maintenanceWords = {
  en: {
    title: 'Maintenance',
    planned: (when: string, isOpen: boolean) => `Maintenance of the chat${isOpen ? ', at the earliest' : ''}: ${when}`,
    putOff: 'Maintenance of the chat was put off. The new time is not known yet.',
    away: ({ duration, isMeasured }: Lasted) =>
      isMeasured
        ? `The chat is unavailable for about ${duration}, as measured last time.`
        : `The chat is unavailable for about ${duration}; this is an estimate.`,
    done: (at: string, duration: string | null) =>
      `Maintenance of the chat on ${at} is over${duration === null ? '.' : `: it was away for ${duration}.`}`,
    reverted: 'The last maintenance of the chat is taken back: it is away for a short time again.',
    cancelled: 'Maintenance of the chat that was announced does not take place.',
  },
  de: {
    title: 'Wartung',
    planned: (when: string, isOpen: boolean) => `Wartung des Chats${isOpen ? ', frühestens' : ''}: ${when}`,
    putOff: 'Die Wartung des Chats ist verschoben. Der neue Zeitpunkt steht noch nicht fest.',
    away: ({ duration, isMeasured }: Lasted) =>
      isMeasured
        ? `Der Chat ist etwa ${duration} nicht erreichbar, wie beim letzten Mal gemessen.`
        : `Der Chat ist etwa ${duration} nicht erreichbar; das ist eine Schätzung.`,
    done: (at: string, duration: string | null) =>
      `Die Wartung des Chats am ${at} ist beendet${duration === null ? '.' : `: Er war ${duration} nicht erreichbar.`}`,
    reverted: 'Die letzte Wartung des Chats wird zurückgenommen: Er ist noch einmal kurz nicht erreichbar.',
    cancelled: 'Die angekündigte Wartung des Chats findet nicht statt.',
  },
} as const satisfies Readonly<Record<Language, unknown>>
