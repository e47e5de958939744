/** How a chat of the demo begins, and what becomes of its background task. */
export interface ChatPlan {
  /** One of the scripted runtime's stories. */
  script?: string;
  prompt?: string;
  /** The demo itself has the runtime end the background task once the turn has ended. */
  killAfterTurn?: boolean;
}

/** What stands behind the example chat server. */
export interface Runtime {
  /** Variables for the chat server. */
  env: NodeJS.ProcessEnv;
  hung: ChatPlan;
  healthy: ChatPlan;
  /** How long the whole story may take. */
  giveUpAfterS: number;
  stop(): Promise<void>;
}

/** No model: transcripts are written in the real shapes. */
export const scriptedRuntime: Runtime = {
  env: {},
  hung: { script: 'hang' },
  healthy: { script: 'healthy' },
  giveUpAfterS: 60,
  stop: async () => undefined,
};
