// Command lake turns object storage into a lakehouse for robot-training data.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
)

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnavailable = 4
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == exec.WorkerCommand {
		os.Exit(exec.WorkerMain())
	}
	os.Exit(run(context.Background(), os.Args))
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command().Run(ctx, args)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "lake: "+err.Error())
	return exitCode(err)
}

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return exitUsage
	case fault.Denied, fault.Unauthentic:
		return exitRefused
	case fault.Unavailable:
		return exitUnavailable
	}
	return exitFailed
}

// usageError is a command line that cannot be taken.
type usageError struct{ error }

func usagef(cmd *cli.Command, format string, args ...any) error {
	return usageError{fmt.Errorf("%s; see `%s --help`", fmt.Sprintf(format, args...), cmd.FullName())}
}

func command() *cli.Command {
	root := &cli.Command{
		Name:  "lake",
		Usage: "a lakehouse for robot-training data in one binary",
		Description: `Start a lake on this machine, load a file, ask a question:

   lake dev
   lake load flights.parquet --table demo.flights --create
   lake sql -q 'SELECT origin, avg(delay) FROM demo.flights GROUP BY origin'`,
		Suggest:         true,
		HideHelpCommand: true,
		ExitErrHandler:  func(context.Context, *cli.Command, error) {}, // run decides
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usagef(cmd, "there is no command %q", cmd.Args().First())
			}
			return cli.ShowRootCommandHelp(cmd)
		},
		Commands: []*cli.Command{
			devCommand(), serveCommand(), loadCommand(), sqlCommand(), tableCommand(),
			statusCommand(), doctorCommand(), selftestCommand(), configCommand(), versionCommand(),
		},
	}
	strict(root)
	return root
}

// strict makes a command and those below it refuse what they do not know.
func strict(cmd *cli.Command) {
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		return usagef(cmd, "%v", err)
	}
	if cmd.Action == nil {
		cmd.Action = func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usagef(cmd, "there is no command %q", cmd.Args().First())
			}
			return cli.ShowSubcommandHelp(cmd)
		}
	}
	for _, sub := range cmd.Commands {
		strict(sub)
	}
}

// settingFlags are the flags of the settings that belong to parts. Where each
// value comes from is config's business, so flags have no default here.
func settingFlags(parts ...config.Part) (flags []cli.Flag) {
	flags = append(flags, &cli.StringFlag{Name: "config", Usage: "settings file, YAML (env " + config.FileEnv + ")", TakesFile: true})
	for _, s := range config.Settings() {
		for _, p := range parts {
			if s.Part != p {
				continue
			}
			usage := fmt.Sprintf("%s; %s", s.Usage, s.Allowed)
			if s.Default != "" {
				usage += ", default " + s.Default
			}
			usage += " (env " + s.Env + ")"
			if s.Kind == config.Switch {
				flags = append(flags, &cli.BoolFlag{Name: s.Name, Usage: usage, HideDefault: true})
			} else {
				flags = append(flags, &cli.StringFlag{Name: s.Name, Usage: usage})
			}
		}
	}
	return flags
}

// loadConfig reads the configuration of a command.
func loadConfig(cmd *cli.Command) (config.Config, error) {
	set := map[string]string{}
	for _, s := range config.Settings() {
		if !cmd.IsSet(s.Name) {
			continue
		}
		if s.Kind == config.Switch {
			set[s.Name] = fmt.Sprint(cmd.Bool(s.Name))
		} else {
			set[s.Name] = cmd.String(s.Name)
		}
	}
	return config.Load(set, cmd.String("config"), config.Environ)
}
