package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/roles/dev"
	"github.com/lakeward/lake/telemetry"
)

func devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "run a whole lake on this machine",
		Description: `All roles in one process, on a folder of this machine. Example:

   lake dev --dir ./lake-data --ready-file ready.json`,
		Flags: settingFlags(config.Common, config.Server, config.OfQuery, config.OfMeta),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return serve(ctx, cmd, dev.All())
		},
	}
}

func serveCommand() *cli.Command {
	flags := settingFlags(config.Common, config.Server, config.OfQuery, config.OfMeta)
	return &cli.Command{
		Name:  "serve",
		Usage: "run one role, or several",
		Description: `The roles are query and meta. Example:

   lake serve --role=meta --dir m --root data --meta-listen 127.0.0.1:41000
   lake serve --role=query --dir q --root data --meta 127.0.0.1:41000`,
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "role", Usage: "roles, separated by commas: query, meta", Required: true}}, flags...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return serve(ctx, cmd, strings.Split(cmd.String("role"), ","))
		},
	}
}

func serve(ctx context.Context, cmd *cli.Command, roles []string) error {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	log := telemetry.Setup(os.Stderr, telemetry.Options{Format: telemetry.Format(cfg.LogFormat), Level: cfg.LogLevel, Color: cfg.Color})
	return dev.Run(ctx, cfg, roles, version(), log)
}

func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "look at the settings",
		Commands: []*cli.Command{{
			Name:  "show",
			Usage: "print every setting, its value in force and where that is from",
			Description: `Flags win over the environment, which wins over the file. Example:

   LAKE_QUERY_SLOTS=2 lake config show --config lake.yaml`,
			Flags: append(settingFlags(config.Common, config.Client, config.Server, config.OfQuery, config.OfMeta), jsonFlag()),
			Action: func(_ context.Context, cmd *cli.Command) error {
				cfg, err := loadConfig(cmd)
				if err != nil {
					return err
				}
				if cmd.Bool("json") {
					return json.NewEncoder(os.Stdout).Encode(cfg.Entries())
				}
				w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
				for _, e := range cfg.Entries() {
					fmt.Fprintf(w, "%s\t%s\t%s\n", e.Key, e.Value, e.Source)
				}
				return w.Flush()
			},
		}},
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Bool("json") {
				return json.NewEncoder(os.Stdout).Encode(map[string]string{"version": version(), "go": runtime.Version(), "platform": platform()})
			}
			fmt.Printf("lake %s (%s, %s)\n", version(), runtime.Version(), platform())
			return nil
		},
	}
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// release is set by the linker when a release is built.
var release string

func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "0.0.0-dev"
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON", HideDefault: true}
}
